// SPDX-License-Identifier: Apache-2.0
// In: a token where it can't stand, and the tokens that could. Out: one diagnostic in the user's terms.
// A list of rules is asked in turn, each for one mistake that people make; the last says what was expected.
#include "frontend/syntax.h"

#include <string.h>

#include "parser.h"

struct complaint {
    struct lexer *lexer;
    const struct token *bad, *before, *earlier;  // the unexpected token and the two before it
    const int *expected;
    int expected_count;
};

// ---------------------------------------------------------------------------------------------- looking at tokens

static bool expects(const struct complaint *c, int kind)
{
    for (int i = 0; i < c->expected_count; i++)
        if (c->expected[i] == kind) return true;
    return false;
}

static bool is_word(const struct complaint *c, const struct token *token, const char *word)
{
    size_t length = strlen(word);
    return token->span.end - token->span.begin == length &&
           !memcmp(c->lexer->source->text + token->span.begin, word, length);
}

static bool is_one_of(const struct complaint *c, const struct token *token, const char *const *words)
{
    for (; *words; words++)
        if (is_word(c, token, *words)) return true;
    return false;
}

static bool is_keyword(int kind)
{
    return kind >= TOKEN_KERNEL && kind <= TOKEN_NAN;
}

static bool begins_statement(int kind)
{
    return kind == TOKEN_AXIS || kind == TOKEN_LET || kind == TOKEN_VAR || kind == TOKEN_FOR || kind == TOKEN_IF;
}

static bool begins_item(int kind)
{
    return kind == TOKEN_KERNEL || kind == TOKEN_FN || kind == TOKEN_CONST || kind == TOKEN_IMPORT;
}

static bool is_comparison(int kind)
{
    return kind >= TOKEN_EQ && kind <= TOKEN_GE;
}

// Whether `token` is the first of a statement or an item.
static bool behind_start(const struct token *previous)
{
    int kind = previous->kind;
    return kind == TOKEN_YYEOF || kind == TOKEN_SEMICOLON || kind == TOKEN_LBRACE || kind == TOKEN_RBRACE;
}

// Just behind the token before, where something is missing.
static struct span behind(const struct token *token)
{
    return (struct span){token->span.source, token->span.end, token->span.end};
}

static const char *described(const struct complaint *c, const struct token *token)
{
    if (token->kind == TOKEN_YYEOF) return "the end of the file";
    uint32_t length = token->span.end - token->span.begin;
    const char *text = c->lexer->source->text + token->span.begin;
    return arena_printf(c->lexer->arena, length > 40 ? "'%.*s…'" : "'%.*s'", (int)(length > 40 ? 37 : length), text);
}

static struct diagnostic *say(const struct complaint *c, const char *code, struct span span, const char *message,
                              const char *help)
{
    struct diagnostic *entry = diagnose(c->lexer->diagnostics, SEVERITY_ERROR, code, span, "%s", message ? message : "");
    entry->help = help;
    return entry;
}

// ---------------------------------------------------------------------------------------------- brackets

static bool stray_closing_bracket(const struct complaint *c)
{
    int kind = c->bad->kind;
    if (kind != TOKEN_RPAREN && kind != TOKEN_RBRACKET && kind != TOKEN_RBRACE) return false;
    const struct bracket *crossed = &c->lexer->crossed;
    if (crossed->kind && crossed->kind != '{') {
        struct diagnostic *entry = say(c, "E0103", c->bad->span, NULL, NULL);
        entry->message =
            arena_printf(c->lexer->arena, "%s stands where '%c' is still open", described(c, c->bad), crossed->kind);
        entry->note_span = crossed->span;
        entry->note = "opened here";
        return true;
    }
    if (kind == TOKEN_RBRACE ? c->lexer->open_count > 0 || !expects(c, TOKEN_KERNEL) : !crossed->kind) return false;
    const char *help = kind == TOKEN_RBRACE ? "perhaps a block ended too early, further up" : "leave it out, or open it";
    say(c, "E0103", c->bad->span, arena_printf(c->lexer->arena, "this %s closes nothing", described(c, c->bad)), help);
    return true;
}

// `foo(a, b;`: something that can't stand in brackets while one is open.
static bool open_bracket_left(const struct complaint *c)
{
    int kind = c->bad->kind, count = kind == TOKEN_SEMICOLON ? c->lexer->forgotten : c->lexer->open_count;
    if (!count) return false;
    const struct bracket *open = &c->lexer->open[count - 1];
    if (kind == TOKEN_LBRACE && c->lexer->open_count > 1) open = &c->lexer->open[c->lexer->open_count - 2];
    int partner = open->kind == '(' ? TOKEN_RPAREN : open->kind == '[' ? TOKEN_RBRACKET : TOKEN_TILE_UNDEF;
    bool outside = kind == TOKEN_SEMICOLON || kind == TOKEN_LBRACE || kind == TOKEN_YYEOF || kind == TOKEN_ARROW ||
                   is_keyword(kind);
    // A reserved word behind '(' or ',' was meant as a name.
    if (is_keyword(kind) && expects(c, TOKEN_NAME) && !c->bad->first_on_line) return false;
    if (!expects(c, partner) || !(outside || c->bad->first_on_line)) return false;
    const char *message =
        arena_printf(c->lexer->arena, "expected '%s' before %s", token_text(partner), described(c, c->bad));
    struct diagnostic *entry = say(c, "E0103", behind(c->before), message, NULL);
    entry->note_span = open->span;
    entry->note = arena_printf(c->lexer->arena, "this '%c' isn't closed", open->kind);
    return true;
}

// ---------------------------------------------------------------------------------------------- statements

static bool missing_semicolon(const struct complaint *c)
{
    int kind = c->bad->kind;
    bool keyword = begins_statement(kind) || begins_item(kind);
    bool goes_on = kind == TOKEN_RBRACE || kind == TOKEN_YYEOF || c->bad->first_on_line || keyword;
    if (!expects(c, TOKEN_SEMICOLON) || !goes_on || c->before->kind == TOKEN_SEMICOLON) return false;
    const char *part = begins_item(c->lexer->construct) ? "definition" : "statement";
    say(c, "E0102", behind(c->before), arena_printf(c->lexer->arena, "expected ';' behind the %s", part), NULL);
    c->lexer->semicolon_missed = true;
    return true;
}

static bool nothing_before_semicolon(const struct complaint *c)
{
    if (c->bad->kind != TOKEN_SEMICOLON || !behind_start(c->before)) return false;
    say(c, "E0101", c->bad->span, "nothing stands before this ';'", "leave it out");
    return true;
}

static bool stray_else(const struct complaint *c)
{
    if (c->bad->kind != TOKEN_ELSE) return false;
    say(c, "E0112", c->bad->span, "this 'else' has no 'if' before it", "it stands right behind the '}' of the branch");
    return true;
}

static bool loop_of_another_language(const struct complaint *c)
{
    bool bare_while = c->bad->kind == TOKEN_WHILE && behind_start(c->before);
    if (!bare_while) return false;
    say(c, "E0109", c->bad->span, "a 'while' doesn't stand alone",
        "write 'for t in range(n) while c { … }': a loop always has a domain");
    return true;
}

// `return x;`, `elif c {`: two names side by side, the first of which is a word of other languages.
static bool foreign_word(const struct complaint *c)
{
    static const char *const jumps[] = {"return", "break", "continue", "yield", NULL};
    static const char *const branches[] = {"elif", "elsif", "elseif", "unless", "switch", "match", NULL};
    static const char *const loops[] = {"loop", "do", "foreach", "parallel", NULL};
    if (c->before->kind != TOKEN_NAME || !behind_start(c->earlier)) return false;
    const char *message = arena_printf(c->lexer->arena, "the language has no %s", described(c, c->before));
    if (is_one_of(c, c->before, jumps))
        say(c, "E0109", c->before->span, message, "what a kernel gives back are its outputs: 'out[i] = e;'");
    else if (is_one_of(c, c->before, branches))
        say(c, "E0109", c->before->span, message, "write 'if c { … } else if d { … } else { … }'");
    else if (is_one_of(c, c->before, loops))
        say(c, "E0109", c->before->span, message, "write 'for t in tile(n) { … }'");
    else
        return false;
    return true;
}

static bool foreign_item(const struct complaint *c)
{
    static const char *const functions[] = {"def", "func", "function", "void", "global", "__global__", "fun", NULL};
    static const char *const includes[] = {"include", "from", "use", "using", NULL};
    if (!expects(c, TOKEN_KERNEL) || c->bad->kind == TOKEN_YYEOF) return false;
    const char *help = is_one_of(c, c->bad, functions) ? "write 'kernel name(…) -> out: … { … }' or 'fn name(a) = e;'"
                       : is_one_of(c, c->bad, includes) ? "write 'import \"path\";'"
                       : begins_statement(c->bad->kind) ? "statements stand in a kernel"
                                                        : NULL;
    struct diagnostic *entry = say(c, "E0101", c->bad->span, NULL, help);
    entry->message =
        arena_printf(c->lexer->arena, "expected a kernel, fn, const or import, found %s", described(c, c->bad));
    return true;
}

static bool item_in_a_block(const struct complaint *c)
{
    if (!begins_item(c->bad->kind) || !behind_start(c->before)) return false;
    bool constant = c->bad->kind == TOKEN_CONST;
    const char *message = arena_printf(c->lexer->arena, "%s stands at file level only", described(c, c->bad));
    say(c, "E0110", c->bad->span, message, constant ? "in a kernel write 'let name = e;'" : NULL);
    return true;
}

// ---------------------------------------------------------------------------------------------- declarations

static bool typed_let(const struct complaint *c)
{
    int construct = c->lexer->construct;
    if (c->bad->kind != TOKEN_COLON || !expects(c, TOKEN_SET)) return false;
    if (construct == TOKEN_LET)
        say(c, "E0110", c->bad->span, "a 'let' has no type: it takes that of its value",
            "write 'let v = e;', with a conversion if need be: 'let v = f32(e);'");
    else if (construct == TOKEN_CONST || construct == TOKEN_AXIS)
        say(c, "E0110", c->bad->span, "there is no type here", "write 'NAME = e;'");
    else
        return false;
    return true;
}

static bool untyped_var(const struct complaint *c)
{
    if (c->lexer->construct != TOKEN_VAR || c->before->kind != TOKEN_NAME || !expects(c, TOKEN_COLON)) return false;
    if (c->bad->kind != TOKEN_SET && c->bad->kind != TOKEN_SEMICOLON) return false;
    say(c, "E0110", c->bad->span, "a 'var' states its type and its axes", "write 'var v: f32[tb] = e;'");
    return true;
}

static bool var_without_value(const struct complaint *c)
{
    bool declares = c->lexer->construct == TOKEN_VAR || c->lexer->construct == TOKEN_LET;
    if (!declares || c->bad->kind != TOKEN_SEMICOLON || !expects(c, TOKEN_SET)) return false;
    say(c, "E0110", c->bad->span, "a value is declared with what it holds at first", "write '… = 0;'");
    return true;
}

static bool let_mut(const struct complaint *c)
{
    static const char *const words[] = {"mut", "auto", "const", NULL};
    if (c->earlier->kind != TOKEN_LET || c->bad->kind != TOKEN_NAME || !is_one_of(c, c->before, words)) return false;
    say(c, "E0110", c->before->span, arena_printf(c->lexer->arena, "there is no 'let %s", described(c, c->before) + 1),
        "a value that changes is a 'var v: f32[tb] = e;'");
    return true;
}

// `float x = 1;`, `int i;`: two names side by side at the start of a statement.
static bool type_before_name(const struct complaint *c)
{
    if (c->before->kind != TOKEN_NAME || c->bad->kind != TOKEN_NAME || !behind_start(c->earlier)) return false;
    if (c->bad->first_on_line) return false;
    say(c, "E0110", c->before->span, "a declaration begins with 'let' or 'var'",
        "write 'let name = e;', or 'var name: f32[tb] = e;' for a value that changes");
    return true;
}

static bool reserved_name(const struct complaint *c)
{
    if (!is_keyword(c->bad->kind) || !expects(c, TOKEN_NAME) || expects(c, TOKEN_INTEGER)) return false;
    // At the start of a line it rather begins a statement, and what is missing is a bracket.
    if (expects(c, TOKEN_RPAREN) && c->bad->first_on_line) return false;
    struct diagnostic *entry = say(c, "E0118", c->bad->span, NULL, NULL);
    entry->message = arena_printf(c->lexer->arena, "%s is a reserved word and can't be a name", described(c, c->bad));
    return true;
}

static bool malformed_fn(const struct complaint *c)
{
    if (c->lexer->construct != TOKEN_FN) return false;
    if (c->bad->kind == TOKEN_COLON)
        say(c, "E0110", c->bad->span, "the parameters of a 'fn' have no types", "write 'fn name(a, b) = e;'");
    else if (expects(c, TOKEN_SET) && (c->bad->kind == TOKEN_LBRACE || c->bad->kind == TOKEN_ARROW))
        say(c, "E0110", c->bad->span, "a 'fn' is one expression", "write 'fn name(a, b) = e;'");
    else
        return false;
    return true;
}

static bool output_without_name(const struct complaint *c)
{
    if (c->earlier->kind != TOKEN_ARROW || c->before->kind != TOKEN_NAME || !expects(c, TOKEN_COLON)) return false;
    say(c, "E0110", c->before->span, "an output has a name", "write '-> out: T[B]'");
    return true;
}

static bool outputs_without_parentheses(const struct complaint *c)
{
    if (c->lexer->construct != TOKEN_KERNEL || c->bad->kind != TOKEN_COMMA || !expects(c, TOKEN_LBRACE)) return false;
    say(c, "E0110", c->bad->span, "several outputs stand in parentheses", "write '-> (a: T[B], b: T[B])'");
    return true;
}

static bool pointer_type(const struct complaint *c)
{
    if (c->lexer->construct != TOKEN_KERNEL || c->bad->kind != TOKEN_STAR || !expects(c, TOKEN_LBRACKET)) return false;
    say(c, "E0110", c->bad->span, "there are no pointers", "a tensor has a shape: 'x: f32[n, m]'");
    return true;
}

// ---------------------------------------------------------------------------------------------- loops, branches

static bool brace_missing(const struct complaint *c)
{
    int construct = c->lexer->construct;
    bool branch = construct == TOKEN_IF || construct == TOKEN_ELSE || construct == TOKEN_FOR;
    bool wants_block = expects(c, TOKEN_LBRACE);
    if (!branch || !wants_block || c->bad->kind == TOKEN_SET) return false;
    bool colon = c->bad->kind == TOKEN_COLON;
    const char *message = arena_printf(c->lexer->arena, "expected '{' before %s", described(c, c->bad));
    say(c, "E0112", colon ? c->bad->span : behind(c->before), message,
        "the body of a loop or branch always stands in braces");
    return true;
}

static bool loop_of_c(const struct complaint *c)
{
    if (c->lexer->construct != TOKEN_FOR || expects(c, TOKEN_LBRACE)) return false;
    bool target = c->before->kind == TOKEN_FOR || c->earlier->kind == TOKEN_FOR || expects(c, TOKEN_IN) ||
                  (c->before->kind == TOKEN_NAME && c->bad->kind == TOKEN_NAME);
    bool domain = c->before->kind == TOKEN_IN || (c->earlier->kind == TOKEN_IN && expects(c, TOKEN_LPAREN));
    if (domain)
        say(c, "E0112", c->before->kind == TOKEN_IN ? c->bad->span : c->before->span,
            "expected the domain of the loop", "write 'for t in tile(n) { … }', or jagged_tile(length), or range(n)");
    else if (target)
        say(c, "E0112", c->bad->span, "a loop can't begin like this",
            "write 'for t in tile(n) { … }' or 'for (i, j) in tile(m, n) { … }'");
    else
        return false;
    // The ';' of a loop as C writes it would look like the end of a statement.
    if (target) skip_to_block(c->lexer);
    return true;
}

// ---------------------------------------------------------------------------------------------- expressions

static bool chained_comparison(const struct complaint *c)
{
    if (!is_comparison(c->bad->kind) || !expects(c, TOKEN_AND_THEN) || expects(c, c->bad->kind)) return false;
    say(c, "E0108", c->bad->span, "comparisons can't be chained", "write 'a < b && b < c'");
    return true;
}

static bool assignment_in_expression(const struct complaint *c)
{
    int construct = c->lexer->construct;
    bool value = construct == TOKEN_IF || construct == TOKEN_FOR || construct == TOKEN_FN || expects(c, TOKEN_RPAREN) ||
                 expects(c, TOKEN_RBRACKET) || expects(c, TOKEN_SEMICOLON);
    if (c->bad->kind != TOKEN_SET || !expects(c, TOKEN_AND_THEN) || !value) return false;
    say(c, "E0111", c->bad->span, "'=' can't stand in an expression", "to compare write '=='; a statement assigns once");
    return true;
}

static bool comparison_for_assignment(const struct complaint *c)
{
    if (c->bad->kind != TOKEN_EQ || !expects(c, TOKEN_SET) || expects(c, TOKEN_EQ)) return false;
    say(c, "E0111", c->bad->span, "'==' compares", "write '='");
    return true;
}

static bool foreign_word_operator(const struct complaint *c)
{
    static const char *const names[] = {"and", "or", "not", "is", "mod", "div", "xor", NULL};
    static const char *const signs[] = {"&&", "||", "!", "==", "%", "/", "^"};
    const struct token *word = c->bad->kind == TOKEN_NAME && expects(c, TOKEN_AND_THEN) ? c->bad : c->before;
    if (c->before->kind == TOKEN_NAME && is_word(c, c->before, "not")) word = c->before;
    for (int i = 0; names[i]; i++) {
        if (word->kind != TOKEN_NAME || !is_word(c, word, names[i])) continue;
        say(c, "E0114", word->span, arena_printf(c->lexer->arena, "the language has no '%s'", names[i]),
            arena_printf(c->lexer->arena, "write '%s'", signs[i]));
        return true;
    }
    return false;
}

static bool decrement(const struct complaint *c)
{
    if (c->before->kind != TOKEN_MINUS || c->earlier->kind != TOKEN_MINUS || c->bad->kind != TOKEN_SEMICOLON) return false;
    say(c, "E0114", c->before->span, "the language has no '--'", "write 'v -= 1;'");
    return true;
}

static bool malformed_index(const struct complaint *c)
{
    bool inside = c->lexer->open_count && c->lexer->open[c->lexer->open_count - 1].kind == '[';
    if (c->bad->kind == TOKEN_LBRACKET && c->before->kind == TOKEN_RBRACKET)
        say(c, "E0119", c->bad->span, "an index stands in one pair of brackets", "write 'x[i, j]'");
    else if (c->bad->kind == TOKEN_COLON && inside && !expects(c, TOKEN_COLON))
        say(c, "E0119", c->bad->span, "there are no slices",
            "name an axis instead: a loop 'for t in tile(n)' or 'axis d = D;', then 'x[t, d]'");
    else if (c->bad->kind == TOKEN_RBRACKET && c->before->kind == TOKEN_LBRACKET)
        say(c, "E0119", c->bad->span, "the index is missing", "write as many indices as the tensor has dimensions");
    else
        return false;
    return true;
}

static bool postfix(const struct complaint *c)
{
    bool after_value = c->before->kind == TOKEN_RPAREN || c->before->kind == TOKEN_RBRACKET;
    bool goes_on = c->bad->kind == TOKEN_LPAREN || c->bad->kind == TOKEN_LBRACKET || c->bad->kind == TOKEN_DOT;
    if (!after_value || !goes_on || !expects(c, TOKEN_AND_THEN)) return false;
    say(c, "E0101", c->bad->span, arena_printf(c->lexer->arena, "%s stands behind names only", described(c, c->bad)),
        "name the value first: 'let v = …;'");
    return true;
}

static bool unary_plus(const struct complaint *c)
{
    if (c->bad->kind != TOKEN_PLUS || !expects(c, TOKEN_INTEGER)) return false;
    say(c, "E0114", c->bad->span, "there is no '+' before a value", "leave it out");
    return true;
}

// ---------------------------------------------------------------------------------------------- anything else

struct token_class {
    const char *name;
    const int *members;  // all of them must be expected
};

static const int operators[] = {TOKEN_OR_ELSE, TOKEN_AND_THEN, TOKEN_OR,    TOKEN_XOR,  TOKEN_AND,   TOKEN_SHL,
                                TOKEN_SHR,     TOKEN_PLUS,     TOKEN_MINUS, TOKEN_STAR, TOKEN_SLASH, TOKEN_PERCENT, 0};
static const int comparisons[] = {TOKEN_EQ, TOKEN_NE, TOKEN_LT, TOKEN_GT, TOKEN_LE, TOKEN_GE, 0};
static const int values[] = {TOKEN_NAME, TOKEN_INTEGER, TOKEN_FLOAT, TOKEN_STRING, TOKEN_TRUE,   TOKEN_FALSE, TOKEN_INF,
                             TOKEN_NAN,  TOKEN_ACCUM,   TOKEN_MINUS, TOKEN_BANG,   TOKEN_LPAREN, TOKEN_TILDE, 0};
static const int statements[] = {TOKEN_AXIS, TOKEN_LET, TOKEN_VAR, TOKEN_FOR, TOKEN_IF, 0};
static const int items[] = {TOKEN_KERNEL, TOKEN_FN, TOKEN_CONST, TOKEN_IMPORT, 0};
static const int assignments[] = {TOKEN_SET, TOKEN_ADD_SET, TOKEN_SUB_SET, TOKEN_MUL_SET, TOKEN_DIV_SET, 0};
static const int types[] = {TOKEN_NAME, TOKEN_ACCUM, 0};

// Larger classes first: what one has taken is not named again.
static const struct token_class classes[] = {
    {"a statement", statements}, {"an expression", values}, {"an operator", operators}, {NULL, comparisons},
    {"'='", assignments},        {"an item", items},        {"a type", types},
};

static const char *class_of_one(struct arena *arena, int kind)
{
    if (kind == TOKEN_NAME) return "a name";
    if (kind == TOKEN_INTEGER || kind == TOKEN_FLOAT) return "a number";
    if (kind == TOKEN_STRING) return "a string in quotes";
    if (kind == TOKEN_YYEOF) return "the end of the file";
    return arena_printf(arena, "'%s'", token_text(kind));
}

static bool take_class(const struct complaint *c, const int *members, bool *taken)
{
    bool more = false;
    for (const int *m = members; *m; m++) {
        if (!expects(c, *m)) return false;
        more |= !taken[*m];
    }
    if (!more) return false;
    for (const int *m = members; *m; m++) taken[*m] = true;
    return true;
}

enum { ALTERNATIVES = 4, TOKEN_KINDS = TOKEN_TILDE + 1 };

// At most four alternatives, single tokens before classes; 0 if there are more.
static int alternatives(const struct complaint *c, const char *found[ALTERNATIVES])
{
    bool taken[TOKEN_KINDS] = {0};
    const char *named[sizeof classes / sizeof *classes];
    int named_count = 0, count = 0;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (take_class(c, classes[i].members, taken) && classes[i].name) named[named_count++] = classes[i].name;
    // In front of a statement its first words say enough: '}' and an expression come along.
    bool statement = named_count && !strcmp(named[0], "a statement");
    if (statement) named_count = 1;
    for (int i = 0; i < c->expected_count; i++) {
        int kind = c->expected[i];
        bool extra = kind == TOKEN_QUESTION && expects(c, TOKEN_AND_THEN);
        if (kind <= TOKEN_TILE_UNDEF || taken[kind] || extra) continue;
        if (count == ALTERNATIVES) return 0;
        found[count++] = class_of_one(c->lexer->arena, kind);
    }
    for (int i = 0; i < named_count; i++) {
        if (count == ALTERNATIVES) return 0;
        found[count++] = named[i];
    }
    return count;
}

// How what stands there is written.
static const char *form_of(int construct)
{
    switch (construct) {
    case TOKEN_KERNEL: return "a kernel is written 'kernel name<T: float>(x: T[n], factor: f32) -> out: T[n] { … }'";
    case TOKEN_FN: return "a function is written 'fn name(a, b) = e;'";
    case TOKEN_CONST: return "a constant is written 'const NAME = e;'";
    case TOKEN_IMPORT: return "an import is written 'import \"path.tile\";'";
    case TOKEN_AXIS: return "an axis is written 'axis d = D;'";
    case TOKEN_LET: return "a value is written 'let v = e;'";
    case TOKEN_VAR: return "a variable is written 'var v: f32[tb] = e;'";
    case TOKEN_FOR: return "a loop is written 'for t in tile(n) { … }'";
    case TOKEN_IF: return "a branch is written 'if c { … } else { … }'";
    default: return NULL;
    }
}

static bool unexpected(const struct complaint *c)
{
    const char *found[ALTERNATIVES];
    struct text message = {0};
    int count = alternatives(c, found);
    for (int i = 0; i < count; i++)
        text_printf(&message, "%s%s", i == 0 ? "expected " : i + 1 < count ? ", " : " or ", found[i]);
    text_printf(&message, "%s%s", count ? ", found " : "unexpected ", described(c, c->bad));
    say(c, "E0101", c->bad->span, message.data, form_of(c->lexer->construct));
    text_free(&message);
    return true;
}

// The first that knows the mistake reports it.
static bool (*const rules[])(const struct complaint *c) = {
    stray_closing_bracket, chained_comparison, nothing_before_semicolon, missing_semicolon, decrement,
    item_in_a_block, stray_else, loop_of_another_language, foreign_word, foreign_word_operator, typed_let, untyped_var,
    var_without_value, let_mut, type_before_name, malformed_fn, output_without_name, outputs_without_parentheses, pointer_type,
    loop_of_c, assignment_in_expression, comparison_for_assignment, malformed_index, postfix, unary_plus, brace_missing,
    open_bracket_left, reserved_name, foreign_item, unexpected,
};

void syntax_error(struct lexer *lexer, int token, const int *expected, int expected_count)
{
    lexer->semicolon_missed = false;
    // Whatever stopped the lexer was reported.
    if (lexer->stopped) return;
    struct token bad = lexer->tokens[0];
    bad.kind = token;
    struct complaint complaint = {
        .lexer = lexer,
        .bad = &bad,
        .before = &lexer->tokens[1],
        .earlier = &lexer->tokens[2],
        .expected = expected,
        .expected_count = expected_count,
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i](&complaint)) return;
}

void too_deep_error(struct lexer *lexer, struct span span)
{
    if (lexer->too_deep) return;
    lexer->too_deep = true;
    diagnose(lexer->diagnostics, SEVERITY_ERROR, "E0107", span, "this is nested too deeply")->help =
        "name parts of it with 'let', or with a 'fn' at file level";
}
