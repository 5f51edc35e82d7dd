// SPDX-License-Identifier: Apache-2.0
// A maximum by compare and exchange: the first look at the place is volatile, as others change it meanwhile.
// LAUNCH blocks=2 threads=64
static __device__ __forceinline__ void tile_atomic_max(float* p, float v) {
    unsigned *place = (unsigned *)p, old = *(volatile unsigned *)p, seen;
    do {
        seen = old;
        const float before = __uint_as_float(old);
        old = atomicCAS(place, seen, __float_as_uint(before > v ? before : v));
    } while (old != seen);
}

extern "C" __global__ void test(float* out, const float* in, int n) {
    __shared__ float top;
    if (threadIdx.x == 0) top = -1.0f;
    __syncthreads();
    tile_atomic_max(&top, in[threadIdx.x]);
    __syncthreads();
    out[blockIdx.x * 64 + threadIdx.x] = top == 16.0f && n == 128 ? 1.0f : 0.0f;
}
