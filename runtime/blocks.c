// SPDX-License-Identifier: Apache-2.0
// Work on many elements by all cores. In: how many, and what is to be done with a range of them. The ranges are the
// same on every machine, so what is added up by range and then in order doesn't depend on the number of cores.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "runtime/build.h"
#include "runtime/data.h"

enum { THREADS_MOST = 16 };

int usable_cores(void) {
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count;
}

struct sharing {
    int64_t count, blocks;
    void (*work)(void *data, int64_t block, int64_t begin, int64_t end);
    void *data;
    atomic_llong next;
};

static void *work_on(void *data) {
    struct sharing *sharing = data;
    for (int64_t block; (block = atomic_fetch_add(&sharing->next, 1)) < sharing->blocks;) {
        int64_t begin = block * BLOCK_ELEMENTS, end = begin + BLOCK_ELEMENTS;
        sharing->work(sharing->data, block, begin, end < sharing->count ? end : sharing->count);
    }
    return NULL;
}

int64_t block_count(int64_t count) {
    return count / BLOCK_ELEMENTS + (count % BLOCK_ELEMENTS != 0);
}

// Threads for which there is no room are done without.
void work_in_blocks(int64_t count, void (*work)(void *data, int64_t block, int64_t begin, int64_t end), void *data) {
    struct sharing sharing = {.count = count, .blocks = block_count(count), .work = work, .data = data};
    pthread_t threads[THREADS_MOST];
    int wanted = usable_cores(), started = 0;
    if (wanted > THREADS_MOST)
        wanted = THREADS_MOST;
    while (started + 1 < wanted && started + 1 < sharing.blocks &&
           pthread_create(&threads[started], NULL, work_on, &sharing) == 0)
        started++;
    work_on(&sharing);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}
