// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes as a .npy file. Either a tensor of exactly the data's size comes out, or an error in words; no
// byte beside the tensor is touched. Built with -fsanitize=fuzzer by clang, or with a driver that replays files.
#include <stdlib.h>

#include "runtime/data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new();
    struct tensor tensor;
    struct npy_header header;
    size_t needed = 0;
    struct status head = npy_parse_header(arena, "input", data, size, &header, &needed);
    struct status status = npy_parse(arena, "input", data, size, &tensor);
    if (status.ok) {
        bool whole = head.ok && needed <= size && header.data_offset + header.data_bytes == size && tensor.bytes == header.data_bytes;
        if (!whole || !tensor_check_guards(arena, "input", &tensor).ok) abort();
    } else if (!status.code || !status.reason || !*status.reason || tensor.block) {
        abort();
    }
    tensor_free(&tensor);
    arena_free(arena);
    return 0;
}
