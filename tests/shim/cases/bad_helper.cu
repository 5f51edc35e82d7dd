// SPDX-License-Identifier: Apache-2.0
// The fault is in a helper: its line is told, not the caller's.
// LAUNCH blocks=1 threads=64
static __device__ __forceinline__ float tile_hand_on(float value, float* place) {
    place[threadIdx.x] = value;  // FAULT which thread
    return place[63 - threadIdx.x];  // FAULT nothing was stored
}

extern "C" __global__ void test(float* out, const float* in, int n) {
    __shared__ float place[64];
    out[threadIdx.x] = tile_hand_on(in[threadIdx.x], place) + n;
}
