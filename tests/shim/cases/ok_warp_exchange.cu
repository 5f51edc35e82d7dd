// SPDX-License-Identifier: Apache-2.0
// Lanes of a warp hand values on through shared memory with a warp barrier alone.
// LAUNCH blocks=2 threads=64
extern "C" __global__ void test(float* out, const float* in, int n) {
    __shared__ float place[64];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    float value = in[i];
    for (int turn = 0; turn < 3; turn++) {
        place[t] = value;
        __syncwarp();
        value = place[t ^ 1];
        __syncwarp();
    }
    out[i] = value == in[i ^ 1] && i < n ? 1.0f : 0.0f;
}
