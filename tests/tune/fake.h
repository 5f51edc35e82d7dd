// SPDX-License-Identifier: Apache-2.0
// Faults that tests ask the fake target for, a letter for each row, in the variable TILEC_TEST_FAULTS. Rows behind its end
// are fine.
#ifndef TILEC_TESTS_TUNE_FAKE_H
#define TILEC_TESTS_TUNE_FAKE_H

#define FAULTS_VARIABLE "TILEC_TEST_FAULTS"
#define REFERENCE_VARIABLE "TILEC_TEST_REFERENCE"  // the letter of the config that makes the reference
#define FOLDER_VARIABLE "TILEC_TEST_FOLDER"  // where a worker that hangs says so: hung.PROCESS

// X(letter, status, raw code or -1 where none is promised)
#define FAKE_FAULTS(X)                                                                      \
    X('.', TUNE_OK, 0)                                                                      \
    /* while it is built */                                                                 \
    X('l', TUNE_SKIPPED_LOWERING, 0)          /* a pass refuses */                          \
    X('L', TUNE_SKIPPED_LIMITS, 0)            /* too many threads */                        \
    X('c', TUNE_SKIPPED_COMPILE, 0)           /* the compiler refuses the text */           \
    X('q', TUNE_SKIPPED_COMPILE_CRASH, 11)    /* the compiler falls over */                 \
    X('k', TUNE_SKIPPED_COMPILE_CRASH, 9)     /* somebody kills it */                       \
    X('e', TUNE_SKIPPED_COMPILE_CRASH, 3)     /* it exits */                                \
    X('b', TUNE_SKIPPED_COMPILE_CRASH, -1)    /* it talks rubbish */                        \
    X('h', TUNE_SKIPPED_COMPILE_TIMEOUT, 0)   /* it hangs, and so does a child of its own */\
    /* on the device */                                                                     \
    X('i', TUNE_FAILED_ILLEGAL_ACCESS, 700)                                                 \
    X('m', TUNE_FAILED_MISALIGNED, 716)                                                     \
    X('f', TUNE_FAILED_LAUNCH, 719)                                                         \
    X('d', TUNE_FAILED_TIMEOUT, 702)          /* the driver's own watchdog */               \
    X('o', TUNE_FAILED_OUT_OF_MEMORY, 2)                                                    \
    X('H', TUNE_FAILED_TIMEOUT, 0)            /* an endless loop */                         \
    X('Q', TUNE_FAILED_CRASH, 11)                                                           \
    X('K', TUNE_FAILED_CRASH, 9)                                                            \
    X('B', TUNE_FAILED_CRASH, -1)             /* rubbish */                                 \
    X('w', TUNE_FAILED_WRONG_RESULT, 0)       /* one element is off */                      \
    X('n', TUNE_FAILED_WRONG_RESULT, 0)       /* one is NaN */                              \
    X('p', TUNE_FAILED_WRONG_RESULT, 0)       /* one is never stored */                     \
    X('g', TUNE_FAILED_WRONG_RESULT, 0)       /* a byte behind the output is */             \
    X('1', TUNE_FAILED_WRONG_RESULT, 0)       /* only the first half is stored */           \
    X('2', TUNE_FAILED_WRONG_RESULT, 0)       /* only the second half is */                 \
    X('z', TUNE_FAILED_TIMING, 0)             /* it takes no time */                        \
    X('s', TUNE_FAILED_TIMING, 0)             /* less than its bytes take */

// What a row takes, in ms: under no other row's threefold, so that none is bounded.
static inline double fake_time(int row)
{
    return 1.0 + (double)(row * 37 % 61) / 61.0;
}

#endif
