// SPDX-License-Identifier: Apache-2.0
// In: UTF-8 text. Out: one token per call. re2c turns the rules below into a scanner (build time).
//
// What can't be a token is reported here, with what was probably meant; the parser gets an error token for it and says nothing
// more. Blocks that the user forgot to close are closed here, before the next item at their indentation or the end,
// so that one missing '}' is one error.
#include "frontend/syntax.h"

#include <math.h>
#include <string.h>

#include "parser.h"

enum { ERRORS_PER_FILE = 50, SOURCE_LIMIT = 16 << 20 };

struct span lexer_span(const struct lexer *lexer, const char *begin, const char *end)
{
    const char *text = lexer->source->text;
    return (struct span){lexer->source, (uint32_t)(begin - text), (uint32_t)(end - text)};
}

static struct span here(const struct lexer *lexer)
{
    return lexer_span(lexer, lexer->begin, lexer->cursor);
}

static struct ast_name name_here(struct lexer *lexer)
{
    size_t length = (size_t)(lexer->cursor - lexer->begin);
    return (struct ast_name){arena_copy(lexer->arena, lexer->begin, length), here(lexer)};
}

// ---------------------------------------------------------------------------------------------- what is no token

// The length of the well-formed UTF-8 character at `at`, or 0.
static size_t utf8_length(const char *at, const char *limit)
{
    const unsigned char *b = (const unsigned char *)at;
    size_t length = b[0] < 0x80 ? 1 : b[0] < 0xc2 ? 0 : b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : b[0] < 0xf5 ? 4 : 0;
    if (!length || length > (size_t)(limit - at)) return 0;
    for (size_t i = 1; i < length; i++)
        if ((b[i] & 0xc0) != 0x80) return 0;
    bool overlong = (b[0] == 0xe0 && b[1] < 0xa0) || (b[0] == 0xf0 && b[1] < 0x90);
    bool outside = (b[0] == 0xed && b[1] > 0x9f) || (b[0] == 0xf4 && b[1] > 0x8f);
    return overlong || outside ? 0 : length;
}

static uint32_t code_point(const char *at, size_t length)
{
    uint32_t code = (unsigned char)at[0] & (length == 1 ? 0x7fu : 0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) code = code << 6 | ((unsigned char)at[i] & 0x3f);
    return code;
}

struct lookalike {
    uint32_t code;
    const char *help;
};

static const char *character_help(uint32_t code)
{
    static const struct lookalike table[] = {
        {'\'', "strings stand in double quotes: \"…\""},
        {'`', "names stand by themselves, without quotes"},
        {'@', "the product over an axis is 'dot[d](a, b)', or 'sum[d](a * b)'"},
        {'\\', "line breaks mean nothing: a statement goes on until its ';'"},
        {'$', "names consist of letters, digits and '_'"},
        {0x2018, "strings stand in double quotes: \"…\""},
        {0x2019, "strings stand in double quotes: \"…\""},
        {0x201c, "this is a typographic quote; write a plain \""},
        {0x201d, "this is a typographic quote; write a plain \""},
        {0x2212, "this is a typographic minus sign; write a plain '-'"},
        {0x2013, "this is a dash; write a plain '-'"},
        {0x2014, "this is a dash; write a plain '-'"},
        {0x00d7, "multiplication is '*'"},
        {0x00b7, "multiplication is '*'"},
        {0x2264, "write '<='"},
        {0x2265, "write '>='"},
        {0x2260, "write '!='"},
        {0x221e, "write 'inf'"},
        {0x2192, "write '->'"},
        {0x00a0, "this is a blank of a kind that only typesetters need; write a plain one"},
        {0x200b, "this character can't be seen; delete it"},
        {0xfeff, "this character can't be seen; delete it"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].code == code) return table[i].help;
    return code >= 0x80 ? "names consist of ASCII letters, digits and '_'" : NULL;
}

static struct diagnostic *complain(struct lexer *lexer, const char *code, struct span span, const char *message)
{
    return diagnose(lexer->diagnostics, SEVERITY_ERROR, code, span, "%s", message);
}

static void bad_byte(struct lexer *lexer, const char *at)
{
    diagnose(lexer->diagnostics, SEVERITY_ERROR, "E0104", lexer_span(lexer, at, at + 1), "the byte 0x%02x is no text",
             (unsigned char)*at)->help = "save the file as UTF-8";
}

static const char *character_message(struct lexer *lexer, uint32_t code, size_t length)
{
    unsigned number = (unsigned)code;
    if (code < 0x20 || code == 0x7f)
        return arena_printf(lexer->arena, "a control character (U+%04X) stands in the text", number);
    if (code == '\'') return "single quotes aren't part of the language";
    if (code < 0x80) return arena_printf(lexer->arena, "'%c' isn't part of the language", (int)code);
    return arena_printf(lexer->arena, "'%.*s' (U+%04X) isn't part of the language", (int)length, lexer->begin, number);
}

static void skip_quoted(struct lexer *lexer)
{
    const char *end = lexer->cursor;
    while (end < lexer->limit && *end != '\n' && *end != '\'') end++;
    if (end < lexer->limit && *end == '\'') lexer->cursor = lexer->bad_end = end + 1;
}

// Bad characters side by side are one error. Returns whether this one was reported.
static bool bad_character(struct lexer *lexer)
{
    bool again = lexer->bad_end == lexer->begin;
    size_t length = utf8_length(lexer->begin, lexer->limit);
    lexer->bad_end = lexer->cursor;
    if (again) return false;
    if (!length) {
        bad_byte(lexer, lexer->begin);
        return true;
    }
    uint32_t code = code_point(lexer->begin, length);
    if (code == '\'') skip_quoted(lexer);
    complain(lexer, "E0104", here(lexer), character_message(lexer, code, length))->help = character_help(code);
    return true;
}

// Reports the first byte of a comment or string that is no text.
static void check_text(struct lexer *lexer, const char *begin, const char *end)
{
    for (const char *at = begin; at < end;) {
        size_t length = utf8_length(at, end);
        if (!length || *at == '\0') {
            bad_byte(lexer, at);
            return;
        }
        at += length;
    }
}

static void skip_line(struct lexer *lexer)
{
    const char *end = memchr(lexer->cursor, '\n', (size_t)(lexer->limit - lexer->cursor));
    lexer->cursor = end ? end : lexer->limit;
}

static void line_comment(struct lexer *lexer)
{
    skip_line(lexer);
    check_text(lexer, lexer->begin, lexer->cursor);
}

static void hash_comment(struct lexer *lexer)
{
    complain(lexer, "E0104", here(lexer), "'#' isn't part of the language")->help = "comments begin with '//'";
    skip_line(lexer);
}

static void block_comment(struct lexer *lexer)
{
    complain(lexer, "E0113", here(lexer), "the language has no block comments")->help =
        "begin each line of it with '//'";
    while (lexer->cursor < lexer->limit && !(lexer->cursor[0] == '*' && lexer->cursor[1] == '/')) lexer->cursor++;
    if (lexer->cursor < lexer->limit) lexer->cursor += 2;
}

static int string_here(struct lexer *lexer, TILE_STYPE *value)
{
    check_text(lexer, lexer->begin, lexer->cursor);
    value->expr = build_expr(lexer, EXPR_STRING, here(lexer));
    value->expr->text = arena_copy(lexer->arena, lexer->begin + 1, (size_t)(lexer->cursor - lexer->begin) - 2);
    return TOKEN_STRING;
}

static int unfinished_string(struct lexer *lexer, TILE_STYPE *value)
{
    const char *quote = NULL, *end;
    skip_line(lexer);
    for (end = lexer->cursor; end > lexer->begin + 1; end--)
        if (end[-1] == '"') quote = end;
    if (quote) {
        // It does end, but holds bytes that no string may.
        lexer->cursor = quote;
        return string_here(lexer, value);
    }
    end = lexer->cursor;
    while (end > lexer->begin && (end[-1] == '\r' || end[-1] == ' ')) end--;
    complain(lexer, "E0105", lexer_span(lexer, lexer->begin, end), "this string doesn't end in its line")->help =
        "close it with '\"'; a string has no escapes";
    return TOKEN_TILE_error;
}

// An operator of other languages. Where it is clear what was meant, parsing goes on with that token.
static int foreign_operator(struct lexer *lexer, const char *code, const char *help, int meant)
{
    size_t length = (size_t)(lexer->cursor - lexer->begin);
    diagnose(lexer->diagnostics, SEVERITY_ERROR, code, here(lexer), "the language has no '%.*s'",
             (int)(length < 60 ? length : 60), lexer->begin)->help = help;
    return meant;
}

static int range_operator(struct lexer *lexer)
{
    const char *help = "a range is the domain of a loop: tile(a, b), jagged_tile(a, b) or range(a, b)";
    return foreign_operator(lexer, "E0114", help, TOKEN_TILE_error);
}

static const char *number_help(const char *text, size_t length)
{
    const char last = text[length - 1];
    if (text[0] == '.') return "write the zero before the point";
    if (text[0] == '0' && length > 1 && (text[1] | 0x20) == 'b') return "write 0x… or a decimal number";
    if (text[0] == '0' && length > 1 && text[1] == 'X') return "write a small 'x'";
    if (memchr(text, '_', length)) return "digits aren't grouped";
    if (last == 'f' || last == 'F')
        return "there are no suffixes: a literal takes the type it meets, and f32(…) gives it one";
    return NULL;
}

static int bad_number(struct lexer *lexer, TILE_STYPE *value)
{
    size_t length = (size_t)(lexer->cursor - lexer->begin);
    for (size_t i = 0; i + 1 < length; i++)
        if (lexer->begin[i] == '.' && lexer->begin[i + 1] == '.') return range_operator(lexer);
    diagnose(lexer->diagnostics, SEVERITY_ERROR, "E0106", here(lexer), "'%.*s' is no number",
             (int)(length < 60 ? length : 60), lexer->begin)->help = number_help(lexer->begin, length);
    value->expr = build_expr(lexer, EXPR_ERROR, here(lexer));
    return TOKEN_INTEGER;
}

static int float_here(struct lexer *lexer, TILE_STYPE *value)
{
    value->expr = build_float(lexer, here(lexer));
    if (isinf(value->expr->number)) {
        complain(lexer, "E0106", here(lexer), "this number is greater than any f64")->help =
            "infinity is written 'inf'";
        value->expr->kind = EXPR_ERROR;
    }
    return TOKEN_FLOAT;
}

// ---------------------------------------------------------------------------------------------- the rules

static int scan(struct lexer *lexer, TILE_STYPE *value)
{
    const char *YYMARKER;
again:
    lexer->begin = lexer->cursor;
    /*!re2c
    re2c:define:YYCTYPE = "unsigned char";
    re2c:define:YYCURSOR = lexer->cursor;
    re2c:define:YYLIMIT = lexer->limit;
    re2c:yyfill:enable = 0;
    re2c:eof = 0;
    re2c:encoding:utf8 = 1;
    re2c:indent:top = 1;

    exponent = [eE] [+-]? [0-9]+;

    [ \t\r\n\v\f]+ { goto again; }
    "//"           { line_comment(lexer); goto again; }
    "/*"           { block_comment(lexer); goto again; }
    "#"            { hash_comment(lexer); goto again; }

    "kernel" { return TOKEN_KERNEL; }
    "fn"     { return TOKEN_FN; }
    "const"  { return TOKEN_CONST; }
    "import" { return TOKEN_IMPORT; }
    "inout"  { return TOKEN_INOUT; }
    "axis"   { return TOKEN_AXIS; }
    "let"    { return TOKEN_LET; }
    "var"    { return TOKEN_VAR; }
    "for"    { return TOKEN_FOR; }
    "in"     { return TOKEN_IN; }
    "while"  { return TOKEN_WHILE; }
    "if"     { return TOKEN_IF; }
    "else"   { return TOKEN_ELSE; }
    "accum"  { return TOKEN_ACCUM; }
    "true"   { return TOKEN_TRUE; }
    "false"  { return TOKEN_FALSE; }
    "inf"    { return TOKEN_INF; }
    "nan"    { return TOKEN_NAN; }
    [A-Za-z_] [A-Za-z_0-9]* { value->name = name_here(lexer); return TOKEN_NAME; }

    [0-9]+ | "0x" [0-9a-fA-F]+ { value->expr = build_integer(lexer, here(lexer)); return TOKEN_INTEGER; }
    [0-9]+ "." [0-9]* exponent? | [0-9]+ exponent { return float_here(lexer, value); }
    [0-9] [0-9A-Za-z_.]* | "." [0-9]+ { return bad_number(lexer, value); }

    ["] [^"\n\x00]* ["] { return string_here(lexer, value); }
    ["]                 { return unfinished_string(lexer, value); }

    "->" { return TOKEN_ARROW; }
    "("  { return TOKEN_LPAREN; }
    ")"  { return TOKEN_RPAREN; }
    "["  { return TOKEN_LBRACKET; }
    "]"  { return TOKEN_RBRACKET; }
    "{"  { return TOKEN_LBRACE; }
    "}"  { return TOKEN_RBRACE; }
    ","  { return TOKEN_COMMA; }
    ";"  { return TOKEN_SEMICOLON; }
    ":"  { return TOKEN_COLON; }
    "."  { return TOKEN_DOT; }
    "?"  { return TOKEN_QUESTION; }
    "="  { return TOKEN_SET; }
    "+=" { return TOKEN_ADD_SET; }
    "-=" { return TOKEN_SUB_SET; }
    "*=" { return TOKEN_MUL_SET; }
    "/=" { return TOKEN_DIV_SET; }
    "||" { return TOKEN_OR_ELSE; }
    "&&" { return TOKEN_AND_THEN; }
    "==" { return TOKEN_EQ; }
    "!=" { return TOKEN_NE; }
    "<"  { return TOKEN_LT; }
    ">"  { return TOKEN_GT; }
    "<=" { return TOKEN_LE; }
    ">=" { return TOKEN_GE; }
    "|"  { return TOKEN_OR; }
    "^"  { return TOKEN_XOR; }
    "&"  { return TOKEN_AND; }
    "<<" { return TOKEN_SHL; }
    ">>" { return TOKEN_SHR; }
    "+"  { return TOKEN_PLUS; }
    "-"  { return TOKEN_MINUS; }
    "*"  { return TOKEN_STAR; }
    "/"  { return TOKEN_SLASH; }
    "%"  { return TOKEN_PERCENT; }
    "!"  { return TOKEN_BANG; }
    "~"  { return TOKEN_TILDE; }

    ":="  { return foreign_operator(lexer, "E0111", "write '='", TOKEN_SET); }
    "===" { return foreign_operator(lexer, "E0114", "write '=='", TOKEN_EQ); }
    "!==" { return foreign_operator(lexer, "E0114", "write '!='", TOKEN_NE); }
    "%=" | "&=" | "|=" | "^=" | "<<=" | ">>=" | "**=" | "@=" | "&&=" | "||=" {
        return foreign_operator(lexer, "E0114", "write it out: v = v … e;", TOKEN_ADD_SET);
    }
    "++" { return foreign_operator(lexer, "E0114", "write 'v += 1;'", TOKEN_TILE_error); }
    "**" { return foreign_operator(lexer, "E0114", "write a product, or exp2(b * log2(a))", TOKEN_TILE_error); }
    "=>" { return foreign_operator(lexer, "E0114", "'>=' compares, outputs stand behind '->'", TOKEN_TILE_error); }
    "::" { return foreign_operator(lexer, "E0114", "the parts of a tile are 't.begin', 't.end'", TOKEN_TILE_error); }
    ".." | "..." | "..=" { return range_operator(lexer); }

    $   { return TOKEN_YYEOF; }
    *   { if (bad_character(lexer)) return TOKEN_TILE_error; goto again; }
    [^] { if (bad_character(lexer)) return TOKEN_TILE_error; goto again; }
    */
}

// ---------------------------------------------------------------------------------------------- brackets

// Keeps the line that the present token begins in; each byte is looked at once, however long a line is.
static void follow_lines(struct lexer *lexer)
{
    for (; lexer->seen < lexer->begin; lexer->seen++) {
        if (*lexer->seen != '\n') continue;
        lexer->line = lexer->seen + 1;
        lexer->line_text = lexer->line;
        while (*lexer->line_text == ' ' || *lexer->line_text == '\t') lexer->line_text++;
    }
}

static bool first_in_line(const struct lexer *lexer)
{
    return lexer->begin == lexer->line_text;
}

static int indentation(const struct lexer *lexer)
{
    return (int)(lexer->line_text - lexer->line);
}

void skip_to_block(struct lexer *lexer)
{
    while (lexer->cursor < lexer->limit && !strchr("{}\n", *lexer->cursor)) lexer->cursor++;
    while (lexer->open_count && lexer->open[lexer->open_count - 1].kind != '{') lexer->open_count--;
}

static void open_bracket(struct lexer *lexer, char kind)
{
    if (lexer->open_count == AST_BRACKET_DEPTH) {
        too_deep_error(lexer, here(lexer));
        lexer->stopped = true;
        return;
    }
    struct bracket bracket = {.kind = kind, .span = here(lexer), .indentation = indentation(lexer)};
    lexer->open[lexer->open_count++] = bracket;
}

// Closes the innermost bracket of this kind; those inside it that are still open are dropped, the outermost of them is
// remembered. Round and square brackets don't reach over a '{'.
static void close_bracket(struct lexer *lexer, char kind)
{
    int at = lexer->open_count - 1;
    while (at >= 0 && lexer->open[at].kind != kind && (kind == '{' || lexer->open[at].kind != '{')) at--;
    if (at < 0 || lexer->open[at].kind != kind) {
        if (lexer->open_count) lexer->crossed = lexer->open[lexer->open_count - 1];
        return;
    }
    if (at + 1 < lexer->open_count) lexer->crossed = lexer->open[at + 1];
    bool outdented = first_in_line(lexer) && indentation(lexer) < lexer->open[at].indentation;
    if (kind == '{' && outdented && !lexer->suspect.source) lexer->suspect = lexer->open[at].span;
    lexer->open_count = at;
}

static void follow_brackets(struct lexer *lexer, int kind)
{
    lexer->crossed = (struct bracket){0};
    lexer->forgotten = 0;
    switch (kind) {
    case TOKEN_LPAREN: open_bracket(lexer, '('); break;
    case TOKEN_LBRACKET: open_bracket(lexer, '['); break;
    case TOKEN_LBRACE: open_bracket(lexer, '{'); break;
    case TOKEN_RPAREN: close_bracket(lexer, '('); break;
    case TOKEN_RBRACKET: close_bracket(lexer, '['); break;
    case TOKEN_RBRACE: close_bracket(lexer, '{'); break;
    case TOKEN_SEMICOLON:
        // It stands in no round or square bracket: any that is open was forgotten.
        lexer->forgotten = lexer->open_count;
        while (lexer->open_count && lexer->open[lexer->open_count - 1].kind != '{') lexer->open_count--;
        break;
    default: break;
    }
}

static int outermost_block(const struct lexer *lexer)
{
    for (int i = 0; i < lexer->open_count; i++)
        if (lexer->open[i].kind == '{') return i;
    return -1;
}

// Whether this token can only stand behind blocks that are still open: an item at their indentation, or the end.
static bool ends_open_blocks(const struct lexer *lexer, int kind)
{
    int block = outermost_block(lexer);
    if (block < 0) return false;
    if (kind == TOKEN_YYEOF) return true;
    if (kind != TOKEN_KERNEL && kind != TOKEN_FN && kind != TOKEN_CONST && kind != TOKEN_IMPORT) return false;
    return first_in_line(lexer) && indentation(lexer) <= lexer->open[block].indentation;
}

// Gives the parser the '}' that is missing; the present token is read again later.
static int close_block_for_user(struct lexer *lexer)
{
    if (!lexer->closing) {
        int innermost = lexer->open_count - 1;
        while (lexer->open[innermost].kind != '{') innermost--;
        struct span opened = lexer->suspect.source ? lexer->suspect : lexer->open[innermost].span;
        bool end = lexer->begin == lexer->limit;
        struct diagnostic *error = complain(lexer, "E0103", opened, "this '{' isn't closed");
        error->help = end ? "the file ends before its '}'" : "the next item begins before its '}'";
        lexer->closing = true;
        lexer->suspect = (struct span){0};
    }
    lexer->cursor = lexer->begin;
    while (lexer->open[--lexer->open_count].kind != '{') continue;
    if (outermost_block(lexer) < 0) lexer->closing = false;
    return TOKEN_RBRACE;
}

// ---------------------------------------------------------------------------------------------- tokens

void lexer_start(struct lexer *lexer, struct arena *arena, const struct source *source, struct diagnostics *diagnostics)
{
    const char *text = source->text;
    bool mark = source->length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3);  // a byte order mark means nothing
    *lexer = (struct lexer){.arena = arena, .source = source, .diagnostics = diagnostics};
    lexer->limit = text + source->length;
    lexer->cursor = lexer->begin = lexer->seen = lexer->line = lexer->line_text = text + (mark ? 3 : 0);
    while (*lexer->line_text == ' ' || *lexer->line_text == '\t') lexer->line_text++;
    lexer->errors_before = diagnostics->errors;
    if (source->length <= SOURCE_LIMIT) return;
    complain(lexer, "E0115", lexer_span(lexer, text, text), "the file is larger than 16 MiB");
    lexer->stopped = true;
}

static bool begins_construct(const struct lexer *lexer)
{
    int before = lexer->tokens[1].kind;
    return before == TOKEN_YYEOF || before == TOKEN_SEMICOLON || before == TOKEN_LBRACE || before == TOKEN_RBRACE;
}

static void remember(struct lexer *lexer, int kind, struct span span)
{
    memmove(lexer->tokens + 1, lexer->tokens, sizeof lexer->tokens - sizeof *lexer->tokens);
    lexer->tokens[0] = (struct token){kind, span, first_in_line(lexer)};
    if (begins_construct(lexer)) lexer->construct = kind;
}

int tile_lex(TILE_STYPE *value, struct span *location, struct lexer *lexer)
{
    if (lexer->diagnostics->errors - lexer->errors_before >= ERRORS_PER_FILE) lexer->stopped = true;
    int kind = lexer->stopped ? TOKEN_YYEOF : scan(lexer, value);
    *location = here(lexer);
    follow_lines(lexer);
    if (!lexer->stopped && ends_open_blocks(lexer, kind)) {
        kind = close_block_for_user(lexer);
        location->begin = location->end = lexer->tokens[0].span.end;
        lexer->crossed = (struct bracket){0};
    } else {
        follow_brackets(lexer, kind);
    }
    if (lexer->stopped && kind != TOKEN_YYEOF) kind = TOKEN_TILE_error;
    remember(lexer, kind, *location);
    return kind;
}
