// SPDX-License-Identifier: Apache-2.0
// Intrinsics of CUDA C that are plain arithmetic, with CUDA's results; part of hostcuda.h.
//
// The one idea: where C and CUDA differ (conversions that saturate, minimum and maximum of a NaN), CUDA's answer is
// given, because the text was written for it.
#pragma once

// ------------------------------------------------------------------------------------------------ bits

namespace simt {
template <class To, class From> inline To bits_as(From value) {
    static_assert(sizeof(To) == sizeof(From), "");
    To result;
    memcpy(&result, &value, sizeof result);
    return result;
}
}  // namespace simt

inline float __int_as_float(int value) { return simt::bits_as<float>(value); }
inline int __float_as_int(float value) { return simt::bits_as<int>(value); }
inline float __uint_as_float(unsigned value) { return simt::bits_as<float>(value); }
inline unsigned __float_as_uint(float value) { return simt::bits_as<unsigned>(value); }
inline double __longlong_as_double(long long value) { return simt::bits_as<double>(value); }
inline long long __double_as_longlong(double value) { return simt::bits_as<long long>(value); }
inline int __double2hiint(double value) { return int(simt::bits_as<long long>(value) >> 32); }
inline int __double2loint(double value) { return int(simt::bits_as<long long>(value)); }
inline double __hiloint2double(int high, int low) {
    return simt::bits_as<double>((long long)((unsigned long long)(unsigned)high << 32 | (unsigned)low));
}
inline int __popc(unsigned value) { return __builtin_popcount(value); }
inline int __popcll(unsigned long long value) { return __builtin_popcountll(value); }
inline int __clz(int value) { return value == 0 ? 32 : __builtin_clz(unsigned(value)); }
inline int __clzll(long long value) { return value == 0 ? 64 : __builtin_clzll((unsigned long long)value); }
inline int __ffs(int value) { return __builtin_ffs(value); }
inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)a * b >> 32); }
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return unsigned(((unsigned long long)high << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    unsigned long long both = (unsigned long long)b << 32 | a;
    unsigned result = 0;
    for (unsigned i = 0; i < 4; i++) result |= unsigned(both >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i;
    return result;
}

// ------------------------------------------------------------------------------------------------ loads and stores

template <class T> inline __attribute__((always_inline)) T __ldg(const T *address) { return *address; }
template <class T> inline __attribute__((always_inline)) T __ldcs(const T *address) { return *address; }
template <class T> inline __attribute__((always_inline)) T __ldcg(const T *address) { return *address; }
template <class T> inline __attribute__((always_inline)) void __stcs(T *address, T value) { *address = value; }
template <class T> inline __attribute__((always_inline)) void __stcg(T *address, T value) { *address = value; }
inline size_t __cvta_generic_to_shared(const void *address) { return size_t(address); }

// ------------------------------------------------------------------------------------------------ arithmetic

inline float rsqrtf(float value) { return 1.0f / sqrtf(value); }
inline double rsqrt(double value) { return 1.0 / sqrt(value); }
inline float tile_exp_rough(float value) { return exp2f(value * 1.44269504f); }
inline float tile_reciprocal_rough(float value) { return 1.0f / value; }
inline float tile_quotient_rough(float a, float b) { return a / b; }
inline float __expf(float value) { return expf(value); }
inline float __logf(float value) { return logf(value); }
inline float __sinf(float value) { return sinf(value); }
inline float __cosf(float value) { return cosf(value); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __frcp_rn(float value) { return 1.0f / value; }
inline float __fsqrt_rn(float value) { return sqrtf(value); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline float __saturatef(float value) { return value > 0 ? (value < 1 ? value : 1.0f) : 0.0f; }

#define SIMT_CHOICE(type) \
    inline type min(type a, type b) { return b < a ? b : a; } \
    inline type max(type a, type b) { return a < b ? b : a; }
SIMT_CHOICE(int)
SIMT_CHOICE(unsigned)
SIMT_CHOICE(long)
SIMT_CHOICE(unsigned long)
SIMT_CHOICE(long long)
SIMT_CHOICE(unsigned long long)
#undef SIMT_CHOICE
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }

// Floating to integer truncates, saturates, and makes NaN 0, or the least value where a double or a
// long long is involved, as PTX says of cvt.
namespace simt {
template <class To> inline To saturate(double value, double low, double beyond, To least, To most) {
    if (value != value) return 0;
    if (value < low) return least;
    return value >= beyond ? most : To(value);
}
}  // namespace simt
inline int __float2int_rz(float value) { return simt::saturate<int>(value, -2147483648.0, 2147483648.0, INT32_MIN, INT32_MAX); }
inline int __double2int_rz(double value) {
    if (value != value) return INT32_MIN;
    return simt::saturate<int>(value, -2147483648.0, 2147483648.0, INT32_MIN, INT32_MAX);
}
inline unsigned __float2uint_rz(float value) { return simt::saturate<unsigned>(value, 0.0, 4294967296.0, 0, UINT32_MAX); }
inline long long __double2ll_rz(double value) {
    if (value != value) return INT64_MIN;
    return simt::saturate<long long>(value, -9223372036854775808.0, 9223372036854775808.0, INT64_MIN, INT64_MAX);
}
inline long long __float2ll_rz(float value) { return __double2ll_rz(value); }
inline int __float2int_rn(float value) { return __float2int_rz(rintf(value)); }
inline long long __double2ll_rn(double value) { return __double2ll_rz(rint(value)); }
inline float __int2float_rn(int value) { return float(value); }
inline float __ll2float_rn(long long value) { return float(value); }
inline double __ll2double_rn(long long value) { return double(value); }
inline float __double2float_rn(double value) { return float(value); }

// ------------------------------------------------------------------------------------------------ helpers in PTX

// Half precision as bits, to nearest even. Exact both ways: a double holds every sum below without rounding.
inline float tile_f16_load(unsigned short bits) {
    unsigned sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31, fraction = bits & 1023;
    if (exponent == 31) return simt::bits_as<float>(sign | 0x7f800000u | fraction << 13);
    if (exponent == 0) {
        float value = float(fraction) * 0x1p-24f;
        return sign != 0 ? -value : value;
    }
    return simt::bits_as<float>(sign | (exponent + 112) << 23 | fraction << 13);
}
inline unsigned short tile_f16_store(float value) {
    unsigned bits = simt::bits_as<unsigned>(value), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u) return (unsigned short)0x7fff;
    if (rest >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);                 // 65520 and above
    if (rest < 0x38800000u) {                                                         // subnormal: multiples of 2^-24
        float scaled = rintf(simt::bits_as<float>(rest) * 0x1p24f);
        return (unsigned short)(sign | unsigned(scaled));
    }
    unsigned rounded = rest + 0xfffu + (rest >> 13 & 1);
    return (unsigned short)(sign | ((rounded >> 13) - (112u << 10)));
}
// NaN if either is.
inline float tile_maxf(float a, float b) { return a > b || a != a ? a : b; }
inline float tile_minf(float a, float b) { return a < b || a != a ? a : b; }
// Where a word stays afterwards is no matter of its value.
// Where not inside nothing is read, and 0 comes.
#define SIMT_HINTED(hint, bytes, type) \
    inline type tile_read_##hint##_if_##bytes(const void *p, bool inside) { return inside ? *static_cast<const type *>(p) : type{}; }
SIMT_HINTED(once, 4, unsigned)
SIMT_HINTED(once, 8, uint2)
SIMT_HINTED(once, 16, uint4)
SIMT_HINTED(keep, 4, unsigned)
SIMT_HINTED(keep, 8, uint2)
SIMT_HINTED(keep, 16, uint4)
#undef SIMT_HINTED
inline unsigned tile_read_keep_4(const void *p) { return *static_cast<const unsigned *>(p); }
inline uint2 tile_read_keep_8(const void *p) { return *static_cast<const uint2 *>(p); }
inline uint4 tile_read_keep_16(const void *p) { return *static_cast<const uint4 *>(p); }
inline unsigned tile_read_once_4(const void *p) { return *static_cast<const unsigned *>(p); }
inline uint2 tile_read_once_8(const void *p) { return *static_cast<const uint2 *>(p); }
inline uint4 tile_read_once_16(const void *p) { return *static_cast<const uint4 *>(p); }
inline void tile_write_once_4(void *p, unsigned q) { *static_cast<unsigned *>(p) = q; }
inline void tile_write_once_8(void *p, uint2 q) { *static_cast<uint2 *>(p) = q; }
inline void tile_write_once_16(void *p, uint4 q) { *static_cast<uint4 *>(p) = q; }
inline float tile_bf16_load(unsigned short bits) { return simt::bits_as<float>(unsigned(bits) << 16); }
inline unsigned short tile_bf16_store(float value) {
    unsigned bits = simt::bits_as<unsigned>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (unsigned short)0x7fff;
    return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}
