// SPDX-License-Identifier: Apache-2.0
// A worker process of a tune. In: a socket on descriptor 3, and for the device worker a file of tensors on 4. Out:
// answers to what comes through the socket, until it is closed. The process may crash or hang: the driver sees to that.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "runtime/tune.h"

struct status worker_failed(int socket, int row, const struct status *status, int number, bool lost)
{
    struct text text = {0};
    text_add(&text, "{\"type\": \"failed\"");
    wire_add_int(&text, "row", row);
    wire_add_text(&text, "code", status->code);
    wire_add_text(&text, "reason", status->reason);
    wire_add_int(&text, "number", number);
    wire_add_bool(&text, "lost", lost);
    text_add(&text, "}");
    bool sent = wire_send(socket, &text);
    text_free(&text);
    return sent ? STATUS_OK : (struct status){false, "internal.socket", "the driver is gone", {0}};
}

// ---------------------------------------------------------------------------------------------- compiling

struct compiling {
    int socket;
    const struct tune_target *target;
    const struct tune_work *work;
    void *state;
};

static void print_built(struct text *out, const struct compiling *compiling, int row, const struct tune_built *built, double seconds)
{
    text_add(out, "{\"type\": \"built\"");
    wire_add_int(out, "row", row);
    wire_add_number(out, "seconds", seconds);
    wire_add_int(out, "registers", built->registers);
    wire_add_int(out, "spill_bytes", built->spill_bytes);
    wire_add_long(out, "shared_bytes", built->shared_bytes);
    text_add(out, ", \"plan\": ");
    tune_plan_print(out, compiling->work, built);
    text_add(out, "}");
}

static bool build_one(const struct compiling *compiling, const struct wire *message)
{
    struct arena *arena = arena_new();
    struct config *config = NULL;
    struct tune_built built = {.registers = -1, .spill_bytes = -1, .shared_bytes = -1};
    int row = wire_int(message, "row", -1);
    const char *path = wire_text(message, "path"), *text = wire_text(message, "config");
    double begin = seconds_now();
    if (!arena || !path || !text) return false;
    struct status status = config_parse(arena, compiling->work->kernel, text, strlen(text), &config);
    if (status.ok) status = compiling->target->build(arena, compiling->state, compiling->work, row, config, path, &built);
    bool sent;
    if (status.ok) {
        struct text answer = {0};
        print_built(&answer, compiling, row, &built, seconds_now() - begin);
        sent = wire_send(compiling->socket, &answer);
        text_free(&answer);
    } else {
        sent = worker_failed(compiling->socket, row, &status, 0, false).ok;
    }
    arena_free(arena);
    return sent;
}

static bool say_ready(int socket)
{
    struct text text = {0};
    text_add(&text, "{\"type\": \"ready\"}");
    bool sent = wire_send(socket, &text);
    text_free(&text);
    return sent;
}

int worker_compile(int socket, const struct tune_target *target, const struct wire *setup)
{
    struct tune_work work;
    struct arena *arena = arena_new();
    struct compiling compiling = {.socket = socket, .target = target, .work = &work};
    if (!arena) return 70;
    struct status status = tune_work_read(arena, setup, -1, &work);
    if (status.ok && target->start) status = target->start(arena, &work, &compiling.state);
    if (!status.ok) return worker_failed(socket, -1, &status, 0, true), 1;
    struct wire *message = NULL;
    bool going = say_ready(socket);
    while (going && (message = wire_receive(socket)) != NULL) {
        going = build_one(&compiling, message);
        wire_free(message);
    }
    arena_free(arena);
    return 0;
}

// ---------------------------------------------------------------------------------------------- the process

// Dies with the driver, takes no interrupts of its terminal, leaves no core files.
static void settle(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    fcntl(WORKER_SOCKET, F_SETFD, FD_CLOEXEC);
    fcntl(WORKER_FILE, F_SETFD, FD_CLOEXEC);
    signal(SIGPIPE, SIG_IGN);
}

int worker_main(int target_count, const struct tune_target *const *targets)
{
    settle();
    struct wire *setup = wire_receive(WORKER_SOCKET);
    const char *name = wire_text(setup, "target"), *role = wire_text(setup, "role");
    if (!name || !role) return fprintf(stderr, "tilec-worker: works for `tilec tune`, not by itself\n"), 2;
    for (int i = 0; i < target_count; i++) {
        if (strcmp(targets[i]->name, name) != 0) continue;
        bool compiles = strcmp(role, "compile") == 0;
        int code = compiles ? worker_compile(WORKER_SOCKET, targets[i], setup) : worker_measure(WORKER_SOCKET, targets[i], setup);
        wire_free(setup);
        return code;
    }
    struct status status = {false, "internal.target", "the worker knows no such target", {0}};
    worker_failed(WORKER_SOCKET, -1, &status, 0, true);
    wire_free(setup);
    return 1;
}
