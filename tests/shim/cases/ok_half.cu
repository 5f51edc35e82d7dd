// SPDX-License-Identifier: Apache-2.0
// Half precision helpers with a PTX body: the shim's take their place. Every finite half goes through a float and back.
// LAUNCH blocks=1 threads=32
static __device__ __forceinline__ float tile_f16_load(unsigned short bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}
static __device__ __forceinline__ unsigned short tile_f16_store(float value) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

extern "C" __global__ void test(float* out, const float* in, int n) {
    bool good = true;
    for (unsigned bits = threadIdx.x; bits < 0x7c00u; bits += 32) {
        good = good && tile_f16_store(tile_f16_load((unsigned short)bits)) == bits;
        good = good && tile_f16_store(-tile_f16_load((unsigned short)bits)) == (bits | 0x8000u);
    }
    good = good && tile_f16_load(0x3c00) == 1.0f && tile_f16_load(0x0001) == 5.9604645e-8f && tile_f16_store(65519.0f) == 0x7bff;
    good = good && tile_f16_store(65520.0f) == 0x7c00 && tile_f16_store(1.00048828125f) == 0x3c00 && tile_f16_store(2.98023223876953125e-8f) == 0;
    good = good && tile_bf16_store(1.00390625f) == 0x3f80 && tile_bf16_store(1.01171875f) == 0x3f82 && tile_bf16_load(0x4049) == 3.140625f;
    out[threadIdx.x] = good && n == 32 && in[0] == 0.0f ? 1.0f : 0.0f;
}
