// SPDX-License-Identifier: Apache-2.0
// What went wrong in the user's program: code, place, reason, mend. Collected, never printed here.
#ifndef TILEC_IR_DIAGNOSTIC_H
#define TILEC_IR_DIAGNOSTIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/arena.h"
#include "ir/text.h"

// A program text. Lines and columns are worked out only when a message is printed.
struct source {
    const char *path;  // as the user wrote it
    const char *text;  // NUL behind the last byte
    size_t length;
    const char *identity;  // the same for all paths to one file, told by who read it; NULL: paths alone tell
};

struct span {
    const struct source *source;  // NULL: no place
    uint32_t begin, end;          // byte offsets, end exclusive
};

struct position {
    int line, column;  // from 1; columns count code points
};
struct position source_position(const struct source *source, uint32_t offset);
// The line that holds `offset`, without its line break.
const char *source_line(const struct source *source, uint32_t offset, size_t *length);

enum severity { SEVERITY_ERROR, SEVERITY_WARNING };

struct diagnostic {
    enum severity severity;
    const char *code;   // "E0203"; `tilec explain` says more
    struct span span;
    const char *message;  // what is wrong, in the user's terms
    const char *help;     // the mend, or NULL
    struct span note_span;  // a second place, e.g. the first declaration; source NULL if none
    const char *note;       // what is there, or NULL
};

struct diagnostics {
    struct arena *arena;
    struct diagnostic *items;
    int count, capacity;
    int errors;
    int limit;  // no more than this many errors are kept (0: 20); later ones are counted only
};

void diagnostics_init(struct diagnostics *diagnostics, struct arena *arena);
// The message is printf-formatted into the arena. Returns the new entry (to add help and note), never NULL.
struct diagnostic *diagnose(struct diagnostics *diagnostics, enum severity severity, const char *code, struct span span,
                            const char *format, ...) __attribute__((format(printf, 5, 6)));
// Prints as users see it: "path:line:column: error[E0203]: message", the underlined line, help, note.
void diagnostic_print(struct text *out, const struct diagnostic *diagnostic, bool colour);

// Why a config, a device or a file was refused: no place in a program, or one.
struct status {
    bool ok;
    const char *code;    // stable, e.g. "lowering.block-too-large"; static text
    const char *reason;  // in words, in the arena of the call
    struct span span;    // where in the program, if anywhere
};
#define STATUS_OK ((struct status){.ok = true})

#endif
