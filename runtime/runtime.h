// SPDX-License-Identifier: Apache-2.0
// What the files of runtime/ share: the handles of tilec.h, opened up, and the way from statuses to reports.
// Private to runtime/.
#ifndef TILEC_RUNTIME_RUNTIME_H
#define TILEC_RUNTIME_RUNTIME_H

#include "runtime/build.h"
#include "runtime/tilec.h"

#ifndef TILEC_VERSION
#define TILEC_VERSION "0.0.0"  // the build says which it is
#endif

struct tilec_program {
    struct arena *arena;
    const struct source *source;
    struct ast_file *file;
};

struct tilec_kernel {
    struct arena *arena;
    tilec_program *program;
    struct ir_kernel *ir;
};

struct tilec_config {
    struct arena *arena;
    tilec_kernel *kernel;
    struct config *config;
};

// The result that belongs to a status, by the first word of its code (build.h has the list).
tilec_result status_result(const struct status *status);
// Adds a status that isn't ok, or every message of `diagnostics`, to the report. The report keeps copies. Both return
// the result that the call should return.
tilec_result report_status(tilec_report *report, const struct status *status);
tilec_result report_diagnostics(tilec_report *report, const struct diagnostics *diagnostics);
// An error without a place.
tilec_result report_failed(tilec_report *report, const char *code, const char *help, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
// A warning without a place. The report keeps copies.
void report_warning(tilec_report *report, const char *code, const char *text);

// Takes over the buffer of `text`; never NULL data.
tilec_text text_take(struct text *text);
// A JSON string with its quotes. Bytes that aren't UTF-8 become U+FFFD.
void json_string(struct text *out, const char *string);

// Reads the command line's spelling of a specialization for a kernel of `file`. Not ok: usage.… naming the option.
struct status specialization_read(struct arena *arena, const struct signature *signature,
                                  const struct tilec_specialization *given, struct specialization *specialization);

// Whether the names to compile in and to leave open are dimensions, and none is both. Not ok: usage.static, usage.dynamic.
struct status specialization_dims(struct arena *arena, const struct signature *signature, const struct tilec_specialization *given);
// Which element types a generic of a kind ("float", "int", "num") stands for, and in words.
bool generic_takes(const char *kind, enum ir_type type);
const char *generic_choices(const char *kind);

// Searches a config for a run, as resolve_request.tune wants it; `data` is this struct. Binds arguments of its own.
struct tune_for_run {
    const tilec_program *program;
    const struct tilec_run_options *options;
};
struct status tune_for_run(void *data, struct arena *arena, const struct ir_kernel *kernel, struct config **config);
// Times the configs of a dispatch file, as resolve_request.time wants it; `data` likewise.
struct dispatch;
struct config_key;
struct status time_for_run(void *data, struct arena *arena, const struct ir_kernel *kernel, const struct dispatch *dispatch,
                           const struct config_key *key, struct config **config);

// What the options of running and timing ask to be bound (data.h has the type).
struct bind_request run_bind_request(const tilec_program *program, const struct tilec_run_options *options);

#endif
