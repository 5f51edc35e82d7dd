// SPDX-License-Identifier: Apache-2.0
// Vector loads and stores of 4 to 16 bytes, and values as bits.
// LAUNCH blocks=1 threads=32
struct tile_pair { float first, second; };

extern "C" __global__ void test(float* __restrict__ out, const float* __restrict__ in, int n) {
    __shared__ __align__(16) float copy[32];
    const int t = threadIdx.x;
    if (t < 8) {
        const float4 four = *reinterpret_cast<const float4*>(in + 4 * t);
        *reinterpret_cast<float4*>(copy + 4 * t) = make_float4(four.x, four.y, four.z, four.w);
    }
    __syncthreads();
    const float2 two = *(const float2*)(copy + (t & ~1));
    const uint4 bits = *reinterpret_cast<const uint4*>(copy + (t & ~3));
    const unsigned mine = t % 4 == 0 ? bits.x : t % 4 == 1 ? bits.y : t % 4 == 2 ? bits.z : bits.w;
    const ushort4 half = make_ushort4(1, 2, 3, (unsigned short)t);
    tile_pair pair = {two.x, two.y};
    const bool good = (t % 2 ? pair.second : pair.first) == in[t] && __uint_as_float(mine) == in[t] && half.w == t;
    out[t] = good && n == 32 ? 1.0f : 0.0f;
}
