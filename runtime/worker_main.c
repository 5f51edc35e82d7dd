// SPDX-License-Identifier: Apache-2.0
// The program tilec-worker: compiles, or holds a device, for `tilec tune`, which starts it.
#include "runtime/tune.h"

int main(void)
{
    static const struct tune_target *const targets[] = {&tune_target_cpu, &tune_target_cuda};
    return worker_main(sizeof targets / sizeof *targets, targets);
}
