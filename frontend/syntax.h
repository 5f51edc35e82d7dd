// SPDX-License-Identifier: Apache-2.0
// What lexer, parser and syntax errors share. Private to frontend/.
//
// Bison calls tile_lex for tokens, ast_build.c for nodes, and syntax_error when no rule fits. The lexer remembers the
// open brackets and the last tokens, so that an error can be told in the terms of what was being written.
#ifndef TILEC_FRONTEND_SYNTAX_H
#define TILEC_FRONTEND_SYNTAX_H

#include "frontend/ast.h"

struct bracket {
    char kind;         // ( [ {
    struct span span;
    int indentation;   // of the line it stands in
};

struct token {
    int kind;          // enum tile_tokentype, from the generated parser.h
    struct span span;
    bool first_on_line;
};

enum { TOKENS_REMEMBERED = 4 };

struct lexer {
    struct arena *arena;
    const struct source *source;
    struct diagnostics *diagnostics;
    struct ast_file *file;             // what the parser fills
    const char *begin, *cursor, *limit;
    struct token tokens[TOKENS_REMEMBERED];  // [0] is the one the parser looks at, [1] the one before
    int construct;                     // kind of the token that began the present statement or item
    struct bracket open[AST_BRACKET_DEPTH];
    int open_count;
    int forgotten;                     // behind a ';': how many were open before it, those in open[] still to be read
    struct bracket crossed;            // an open bracket that the present closing one is no partner of; kind 0: none
    struct span suspect;               // a '{' whose '}' stands at another indentation; source NULL: none
    const char *seen, *line, *line_text;  // how far lines were followed; the present line, its first non-blank
    const char *bad_end;               // behind the last character reported as bad
    int errors_before;                 // in `diagnostics` when this file began
    bool closing;                      // open blocks are being closed in the user's stead
    bool stopped;                      // only the end of the file is given from now on
    bool semicolon_missed;             // the last error was a ';' left out before something that goes on well
    bool too_deep;                     // reported
};

// lexer.re
union TILE_STYPE;
void lexer_start(struct lexer *lexer, struct arena *arena, const struct source *source, struct diagnostics *diagnostics);
void skip_to_block(struct lexer *lexer);  // goes on at the next brace or line
int tile_lex(union TILE_STYPE *value, struct span *location, struct lexer *lexer);
struct span lexer_span(const struct lexer *lexer, const char *begin, const char *end);

// syntax_error.c: `token` stands where only one of `expected` may.
void syntax_error(struct lexer *lexer, int token, const int *expected, int expected_count);
void too_deep_error(struct lexer *lexer, struct span span);

// parser.y
const char *token_text(int kind);  // "kernel", "(", "name"

// ast_build.c: nodes. Spans are given by the grammar; trees that grow too high are cut and reported.
struct ast_expr *build_expr(struct lexer *lexer, enum ast_expr_kind kind, struct span span);
struct ast_expr *build_integer(struct lexer *lexer, struct span span);
struct ast_expr *build_float(struct lexer *lexer, struct span span);
struct ast_expr *build_constant(struct lexer *lexer, struct span span, double value);
struct ast_expr *build_bool(struct lexer *lexer, struct span span, bool value);
struct ast_expr *build_named(struct lexer *lexer, enum ast_expr_kind kind, struct span span, struct ast_name name,
                             struct ast_exprs over, struct ast_exprs args);
struct ast_expr *build_member(struct lexer *lexer, struct span span, struct ast_name name, struct ast_name member);
struct ast_expr *build_unary(struct lexer *lexer, struct span span, enum ast_operator op, struct ast_expr *a);
struct ast_expr *build_binary(struct lexer *lexer, struct span span, enum ast_operator op, struct ast_expr *a,
                              struct ast_expr *b);
struct ast_expr *build_conditional(struct lexer *lexer, struct span span, struct ast_expr *condition,
                                   struct ast_expr *a, struct ast_expr *b);
struct ast_exprs one_expr(struct lexer *lexer, struct ast_expr *expr);
struct ast_exprs more_exprs(struct lexer *lexer, struct ast_exprs list, struct ast_expr *expr);
struct ast_names one_name(struct lexer *lexer, struct ast_name name);
struct ast_names more_names(struct lexer *lexer, struct ast_names list, struct ast_name name);

struct ast_stmt *build_stmt(struct lexer *lexer, enum ast_stmt_kind kind, struct span span);
struct ast_stmt *build_declaration(struct lexer *lexer, enum ast_stmt_kind kind, struct span span, struct ast_name name,
                                   struct ast_expr *value);
struct ast_stmt *build_assignment(struct lexer *lexer, struct span span, struct ast_expr *place, enum ast_assign assign,
                                  struct ast_expr *value);
struct ast_stmt *build_expr_stmt(struct lexer *lexer, struct span span, struct ast_expr *value);
struct ast_stmt *build_for(struct lexer *lexer, struct span span, struct ast_stmt *target, const struct ast_stmt *domain,
                           struct ast_expr *condition, struct ast_block body);
struct ast_stmt *build_if(struct lexer *lexer, struct span span, struct ast_expr *condition, struct ast_block body,
                          const struct ast_block *otherwise);
struct ast_block block_add(struct lexer *lexer, struct ast_block block, struct ast_stmt *stmt);

struct ast_generics generics_add(struct lexer *lexer, struct ast_generics list, struct ast_generic generic);
struct ast_params params_add(struct lexer *lexer, struct ast_params list, struct ast_param param);
void file_add(struct lexer *lexer, struct ast_item item);
void file_add_kernel(struct lexer *lexer, struct span span, struct ast_name name, struct ast_generics generics,
                     struct ast_params params, struct ast_params outputs, struct ast_block body);

#endif
