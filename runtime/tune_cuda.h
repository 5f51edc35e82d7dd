// SPDX-License-Identifier: Apache-2.0
// Comparing on the device, for tune_cuda.c: outputs of hundreds of millions of elements need not travel to the host for
// each config. Private to these two files.
#ifndef TILEC_RUNTIME_TUNE_CUDA_H
#define TILEC_RUNTIME_TUNE_CUDA_H

#include "runtime/cuda.h"
#include "runtime/tune.h"

struct cuda_comparer {
    cuda_module_handle module;      // NULL: none
    struct cuda_buffer wrong;       // a count
    struct cuda_buffer *references; // by parameter, uploaded when first needed
    struct cuda_buffer *errors;     // of their elements, likewise
    bool broken;                    // the host compares
};
// Makes it ready; the first comparison does too.
void cuda_comparer_begin(struct arena *arena, struct cuda_device *device, const struct tune_work *work, struct cuda_comparer *comparer);
// Whether an output on the device agrees with its reference by the rules of compare_tensors. False also where that can't be
// told here: then the host looks.
bool cuda_compare(struct arena *arena, struct cuda_device *device, const struct tune_work *work, struct cuda_comparer *comparer, int param,
                  const struct ir_tensor *value);

#endif
