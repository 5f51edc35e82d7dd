// SPDX-License-Identifier: Apache-2.0
// A warp copies boxes of eight rows, of which two are inside, or one, for the other one: two places in turn.
// LAUNCH blocks=1 threads=64 dynamic=4096
static __device__ __forceinline__ unsigned tile_address(const unsigned char *shared) {
    asm("cvta");
}
static __device__ __forceinline__ void tile_phase_start(const unsigned at, const int arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at), "r"(arrivals) : "memory");
}
static __device__ __forceinline__ void tile_phase_arrive(const unsigned at) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(at) : "memory");
}
static __device__ __forceinline__ void tile_phase_expect(const unsigned at, const int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(at), "r"(bytes) : "memory");
}
static __device__ __forceinline__ void tile_phase_await(const unsigned at, const int turn) {
    asm volatile("mbarrier.try_wait.parity.shared.b64 p, [%0], %1;" :: "r"(at), "r"(turn) : "memory");
}
static __device__ __forceinline__ void tile_map_3_bf16(int *map, const unsigned short *tensor, const int rows, const unsigned columns, const unsigned count, const long long apart) {
    asm volatile("tensormap.replace" :: "l"(map) : "memory");
}
static __device__ __forceinline__ void tile_box_3(const unsigned at, const int *map, const unsigned phase, const int c0, const int c1, const int c2) {
    asm volatile("cp.async.bulk.tensor.3d" :: "r"(at) : "memory");
}

// `in` is a tensor of 2 rows of 64 halves each.
extern "C" __global__ void test(float* out, const float* in, int n) {
    extern __shared__ __align__(1024) unsigned char tile_stage[];
    const unsigned tiles = tile_address(tile_stage);
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    int *const map = (int *)out + blockIdx.x * 32;
    if (threadIdx.x == 0) {
        tile_map_3_bf16(map, (const unsigned short *)in, 8, 64, 2, 64);
        for (int i = 0; i < 2; i++) {
            tile_phase_start(tiles + i * 8, 1);
            tile_phase_start(tiles + 16 + i * 8, 1);
        }
    }
    __syncthreads();
    bool right = true;
    if (warp == 0) {
        for (int turn = 0; turn < 5; turn++) {
            const int rows = turn == 4 ? 1 : 2, place = turn % 2;
            tile_phase_await(tiles + place * 8, turn / 2 % 2);
            for (int row = 0; row < 8; row++) {
                const unsigned pair = *(const unsigned *)(tile_stage + 1024 + place * 1024 + row * 128 + ((lane / 4 ^ row) * 4 + lane % 4) * 4);
                right = right && pair == (row < rows ? ((const unsigned *)in)[row * 32 + lane] : 0u);
            }
            __syncwarp();
            if (lane == 0) tile_phase_arrive(tiles + 16 + place * 8);
        }
    } else if (lane == 0) {
        for (int turn = 0; turn < 5; turn++) {
            const int rows = turn == 4 ? 1 : 2, place = turn % 2;
            tile_phase_await(tiles + 16 + place * 8, turn / 2 % 2 ^ 1);
            tile_phase_expect(tiles + place * 8, 1024);
            tile_box_3(tiles + 1024 + place * 1024, map, tiles + place * 8, 0, 8 - rows, rows);
        }
    }
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = right ? 1.0f : 0.0f;
}
