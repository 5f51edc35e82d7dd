// SPDX-License-Identifier: Apache-2.0
// In: tokens. Out: the tree of ast.h. The grammar of the tile language, LALR(1) without conflicts.
// Actions only build nodes. After an error parsing goes on at the next ';', block, keyword of a statement or of an item;
// a ';' that is left out at the end of a line is put there.

%define api.pure full
%define api.prefix {tile_}
%define api.token.prefix {TOKEN_}
%define api.token.raw
%define api.location.type {struct span}
%define parse.error custom
%define parse.lac full
%locations
%param {struct lexer *lexer}
%expect 0

%code requires {
#include "frontend/syntax.h"

#include <math.h>

#define YYLLOC_DEFAULT(current, right, count)                                                     \
    do {                                                                                          \
        (current).source = YYRHSLOC(right, (count) ? 1 : 0).source;                               \
        (current).begin = (count) ? YYRHSLOC(right, 1).begin : YYRHSLOC(right, 0).end;            \
        (current).end = YYRHSLOC(right, count).end;                                               \
    } while (0)
}

%code {
// Deep enough for every tree within the limits of ast.h; beyond it the parser says so instead of growing.
#define YYMAXDEPTH 10000

static void tile_error(struct span *location, struct lexer *lexer, const char *message);
}

%initial-action { @$ = (struct span){lexer->source, 0, 0}; }

%union {
    struct ast_name name;
    struct ast_names names;
    struct ast_expr *expr;
    struct ast_exprs exprs;
    struct ast_type type;
    struct ast_tensor tensor;
    struct ast_block block;
    struct ast_block *otherwise;
    struct ast_stmt *stmt;
    enum ast_assign assign;
    struct ast_generic generic;
    struct ast_generics generics;
    struct ast_param param;
    struct ast_params params;
}

%token KERNEL "kernel" FN "fn" CONST "const" IMPORT "import" INOUT "inout" AXIS "axis" LET "let" VAR "var"
       FOR "for" IN "in" WHILE "while" IF "if" ELSE "else" ACCUM "accum" TRUE "true" FALSE "false" INF "inf" NAN "nan"
%token <name> NAME "name"
%token <expr> INTEGER "integer" FLOAT "number" STRING "string"
%token ARROW "->" LPAREN "(" RPAREN ")" LBRACKET "[" RBRACKET "]" LBRACE "{" RBRACE "}" COMMA "," SEMICOLON ";"
       COLON ":" DOT "." QUESTION "?" SET "=" ADD_SET "+=" SUB_SET "-=" MUL_SET "*=" DIV_SET "/="
       OR_ELSE "||" AND_THEN "&&" EQ "==" NE "!=" LT "<" GT ">" LE "<=" GE ">=" OR "|" XOR "^" AND "&" SHL "<<" SHR ">>"
       PLUS "+" MINUS "-" STAR "*" SLASH "/" PERCENT "%" BANG "!" TILDE "~"

%right "?" ":"
%left "||"
%left "&&"
%nonassoc "==" "!=" "<" ">" "<=" ">="
%left "|"
%left "^"
%left "&"
%left "<<" ">>"
%left "+" "-"
%left "*" "/" "%"
%precedence UNARY

%type <names> names optional_names
%type <expr> expr primary loop_while optional_value
%type <exprs> exprs optional_exprs
%type <type> type
%type <tensor> tensor
%type <block> block stmts
%type <otherwise> else_part
%type <stmt> stmt keyword_stmt simple_stmt if target domain
%type <assign> assign
%type <generic> generic
%type <generics> generics generic_list
%type <param> param output
%type <params> params param_list outputs output_list

%%

// ------------------------------------------------------------------------------------------------ files

file: items;

items: %empty | items item;

item: keyword_item
    | error ";"                 { yyerrok; }
    | error block               { yyerrok; }
    | error resume keyword_item
    ;

resume: %empty { yyerrok; };

keyword_item:
      "import" STRING semicolon
        { file_add(lexer, (struct ast_item){ITEM_IMPORT, .span = @$, .name = {$2->text, @2}}); }
    | "const" NAME "=" expr semicolon
        { file_add(lexer, (struct ast_item){ITEM_CONST, .span = @$, .name = $2, .value = $4}); }
    | "fn" NAME "(" optional_names ")" "=" expr semicolon
        { file_add(lexer, (struct ast_item){ITEM_FN, .span = @$, .name = $2, .params = $4, .value = $7}); }
    | "kernel" NAME generics params "->" outputs block
        { file_add_kernel(lexer, @$, $2, $3, $4, $6, $7); }
    | "kernel" NAME generics params block
        { file_add_kernel(lexer, @$, $2, $3, $4, (struct ast_params){0}, $5); }
    | "kernel" error block
        { yyerrok; file_add(lexer, (struct ast_item){ITEM_ERROR, .span = @$}); }
    | "kernel" error ";"
        { yyerrok; file_add(lexer, (struct ast_item){ITEM_ERROR, .span = @$}); }
    | "kernel" error resume keyword_item
    ;

// Left out at the end of a line it is reported and taken as written; elsewhere the rest is skipped silently.
semicolon: ";"
    | error                     { if (lexer->semicolon_missed) yyerrok; }
    | error ";"                 { yyerrok; }
    ;

// ------------------------------------------------------------------------------------------------ kernel heads

generics: %empty                { $$ = (struct ast_generics){0}; }
    | "<" generic_list ">"      { $$ = $2; }
    | "<" generic_list "," ">"  { $$ = $2; }
    ;
generic_list: generic           { $$ = generics_add(lexer, (struct ast_generics){0}, $1); }
    | generic_list "," generic  { $$ = generics_add(lexer, $1, $3); }
    ;
generic: NAME ":" NAME          { $$ = (struct ast_generic){.name = $1, .kind = $3}; }
    | NAME ":" NAME "=" NAME    { $$ = (struct ast_generic){.name = $1, .kind = $3, .has_default = true, .value = $5}; }
    ;

params: "(" ")"                 { $$ = (struct ast_params){0}; }
    | "(" param_list ")"        { $$ = $2; }
    | "(" param_list "," ")"    { $$ = $2; }
    ;
param_list: param               { $$ = params_add(lexer, (struct ast_params){0}, $1); }
    | param_list "," param      { $$ = params_add(lexer, $1, $3); }
    ;
param: NAME ":" tensor optional_value   { $$ = (struct ast_param){$1, @$, MODE_IN, $3, $4}; }
    | NAME ":" tensor "?"               { $$ = (struct ast_param){$1, @$, MODE_OPTIONAL, $3, NULL}; }
    | "inout" NAME ":" tensor           { $$ = (struct ast_param){$2, @$, MODE_INOUT, $4, NULL}; }
    ;

outputs: output                 { $$ = params_add(lexer, (struct ast_params){0}, $1); }
    | "(" output_list ")"       { $$ = $2; }
    | "(" output_list "," ")"   { $$ = $2; }
    ;
output_list: output             { $$ = params_add(lexer, (struct ast_params){0}, $1); }
    | output_list "," output    { $$ = params_add(lexer, $1, $3); }
    ;
output: NAME ":" tensor optional_value  { $$ = (struct ast_param){$1, @$, MODE_OUT, $3, $4}; };
optional_value: %empty { $$ = NULL; } | "=" expr { $$ = $2; };

tensor: type                    { $$ = (struct ast_tensor){.span = @$, .type = $1}; }
    | type "[" optional_exprs "]"
        { $$ = (struct ast_tensor){.span = @$, .type = $1, .has_shape = true, .shape = $3}; }
    ;
type: NAME                      { $$ = (struct ast_type){false, $1}; }
    | "accum" "(" NAME ")"      { $$ = (struct ast_type){true, $3}; }
    ;

// ------------------------------------------------------------------------------------------------ statements

block: "{" stmts "}"            { $$ = $2; $$.span = @$; }
    | "{" stmts error "}"       { $$ = $2; $$.span = @$; yyerrok; }
    ;
stmts: %empty                   { $$ = (struct ast_block){.span = @$}; }
    | stmts stmt                { $$ = block_add(lexer, $1, $2); }
    ;

stmt: keyword_stmt
    | simple_stmt
    | error ";"                 { $$ = build_stmt(lexer, STMT_ERROR, @$); yyerrok; }
    | error block               { $$ = build_stmt(lexer, STMT_ERROR, @$); yyerrok; }
    | error resume keyword_stmt { $$ = $3; }
    ;

keyword_stmt:
      "axis" NAME "=" expr semicolon    { $$ = build_declaration(lexer, STMT_AXIS, @$, $2, $4); }
    | "let" NAME "=" expr semicolon     { $$ = build_declaration(lexer, STMT_LET, @$, $2, $4); }
    | "var" NAME ":" tensor "=" expr semicolon
        { $$ = build_declaration(lexer, STMT_VAR, @$, $2, $6); $$->tensor = $4; }
    | "for" target "in" domain loop_while block
        { $$ = build_for(lexer, @$, $2, $4, $5, $6); }
    | "for" error block                 { $$ = build_stmt(lexer, STMT_ERROR, @$); yyerrok; }
    | "for" error ";"                   { $$ = build_stmt(lexer, STMT_ERROR, @$); yyerrok; }
    | if
    ;
simple_stmt:
      expr assign expr semicolon        { $$ = build_assignment(lexer, @$, $1, $2, $3); }
    | expr semicolon                    { $$ = build_expr_stmt(lexer, @$, $1); }
    ;

if: "if" expr block else_part           { $$ = build_if(lexer, @$, $2, $3, $4); }
    | "if" error block else_part        { $$ = build_stmt(lexer, STMT_ERROR, @$); yyerrok; }
    | "if" error ";"                    { $$ = build_stmt(lexer, STMT_ERROR, @$); yyerrok; }
    ;
else_part: %empty                       { $$ = NULL; }
    | "else" block                      { $$ = ARENA_NEW(lexer->arena, struct ast_block); *$$ = $2; }
    | "else" if
        {
            $$ = ARENA_NEW(lexer->arena, struct ast_block);
            *$$ = block_add(lexer, (struct ast_block){.span = @2}, $2);
        }
    ;

assign: "=" { $$ = ASSIGN_SET; } | "+=" { $$ = ASSIGN_ADD; } | "-=" { $$ = ASSIGN_SUB; }
    | "*=" { $$ = ASSIGN_MUL; } | "/=" { $$ = ASSIGN_DIV; }
    ;

// Parts of a loop come as statements that hold no more than that part.
target: NAME
        { $$ = build_stmt(lexer, STMT_FOR, @$); $$->targets = one_name(lexer, $1); }
    | "(" names ")"
        { $$ = build_stmt(lexer, STMT_FOR, @$); $$->targets = $2; $$->targets_in_parentheses = true; }
    ;
domain: NAME "(" exprs ")"
        { $$ = build_stmt(lexer, STMT_FOR, @$); $$->domain = $1; $$->bounds = $3; }
    ;
loop_while: %empty { $$ = NULL; } | "while" expr { $$ = $2; };

// ------------------------------------------------------------------------------------------------ expressions

optional_names: %empty { $$ = (struct ast_names){0}; } | names;
names: NAME { $$ = one_name(lexer, $1); } | names "," NAME { $$ = more_names(lexer, $1, $3); };

optional_exprs: %empty { $$ = (struct ast_exprs){0}; } | exprs | exprs ",";
exprs: expr { $$ = one_expr(lexer, $1); } | exprs "," expr { $$ = more_exprs(lexer, $1, $3); };

expr: primary
    | expr "?" expr ":" expr { $$ = build_conditional(lexer, @$, $1, $3, $5); }
    | expr "||" expr { $$ = build_binary(lexer, @$, OPERATOR_LOR, $1, $3); }
    | expr "&&" expr { $$ = build_binary(lexer, @$, OPERATOR_LAND, $1, $3); }
    | expr "==" expr { $$ = build_binary(lexer, @$, OPERATOR_EQ, $1, $3); }
    | expr "!=" expr { $$ = build_binary(lexer, @$, OPERATOR_NE, $1, $3); }
    | expr "<" expr  { $$ = build_binary(lexer, @$, OPERATOR_LT, $1, $3); }
    | expr ">" expr  { $$ = build_binary(lexer, @$, OPERATOR_GT, $1, $3); }
    | expr "<=" expr { $$ = build_binary(lexer, @$, OPERATOR_LE, $1, $3); }
    | expr ">=" expr { $$ = build_binary(lexer, @$, OPERATOR_GE, $1, $3); }
    | expr "|" expr  { $$ = build_binary(lexer, @$, OPERATOR_OR, $1, $3); }
    | expr "^" expr  { $$ = build_binary(lexer, @$, OPERATOR_XOR, $1, $3); }
    | expr "&" expr  { $$ = build_binary(lexer, @$, OPERATOR_AND, $1, $3); }
    | expr "<<" expr { $$ = build_binary(lexer, @$, OPERATOR_SHL, $1, $3); }
    | expr ">>" expr { $$ = build_binary(lexer, @$, OPERATOR_SHR, $1, $3); }
    | expr "+" expr  { $$ = build_binary(lexer, @$, OPERATOR_ADD, $1, $3); }
    | expr "-" expr  { $$ = build_binary(lexer, @$, OPERATOR_SUB, $1, $3); }
    | expr "*" expr  { $$ = build_binary(lexer, @$, OPERATOR_MUL, $1, $3); }
    | expr "/" expr  { $$ = build_binary(lexer, @$, OPERATOR_DIV, $1, $3); }
    | expr "%" expr  { $$ = build_binary(lexer, @$, OPERATOR_MOD, $1, $3); }
    | "-" expr %prec UNARY { $$ = build_unary(lexer, @$, OPERATOR_NEG, $2); }
    | "!" expr %prec UNARY { $$ = build_unary(lexer, @$, OPERATOR_LNOT, $2); }
    | "~" expr %prec UNARY { $$ = build_unary(lexer, @$, OPERATOR_NOT, $2); }
    ;

// NAME [..] (..) is always a reduction, NAME (..) always a call, NAME [..] always an element: the token behind the ']'
// decides, so no name of a function needs to be reserved.
primary: NAME
        { $$ = build_expr(lexer, EXPR_NAME, @$); $$->name = $1; }
    | INTEGER | FLOAT | STRING
    | "true"                    { $$ = build_bool(lexer, @$, true); }
    | "false"                   { $$ = build_bool(lexer, @$, false); }
    | "inf"                     { $$ = build_constant(lexer, @$, (double)INFINITY); }
    | "nan"                     { $$ = build_constant(lexer, @$, (double)NAN); }
    | "(" expr ")"              { $$ = $2; $$->span = @$; }
    | NAME "(" optional_exprs ")"
        { $$ = build_named(lexer, EXPR_CALL, @$, $1, (struct ast_exprs){0}, $3); }
    | "accum" "(" NAME ")" "(" expr ")"
        { $$ = build_named(lexer, EXPR_ACCUM, @$, $3, (struct ast_exprs){0}, one_expr(lexer, $6)); }
    | NAME "[" exprs "]"
        { $$ = build_named(lexer, EXPR_ELEMENT, @$, $1, (struct ast_exprs){0}, $3); }
    | NAME "[" exprs "]" "(" optional_exprs ")"
        { $$ = build_named(lexer, EXPR_REDUCTION, @$, $1, $3, $6); }
    | NAME "." NAME             { $$ = build_member(lexer, @$, $1, $3); }
    ;

%%

// Token kinds are symbol kinds (api.token.raw), so what Bison says can be handed on as it is.
static int yyreport_syntax_error(const yypcontext_t *context, struct lexer *lexer)
{
    yysymbol_kind_t symbols[YYNTOKENS];
    int expected[YYNTOKENS], count = yypcontext_expected_tokens(context, symbols, YYNTOKENS);
    for (int i = 0; i < count; i++) expected[i] = (int)symbols[i];
    syntax_error(lexer, (int)yypcontext_token(context), expected, count > 0 ? count : 0);
    return 0;
}

// Called only when the parser's stack is full.
static void tile_error(struct span *location, struct lexer *lexer, const char *message)
{
    (void)message;
    too_deep_error(lexer, *location);
}

const char *token_text(int kind)
{
    return yysymbol_name((yysymbol_kind_t)kind);
}

struct ast_file *ast_parse(struct arena *arena, const struct source *source, struct diagnostics *diagnostics)
{
    struct lexer lexer;
    lexer_start(&lexer, arena, source, diagnostics);
    lexer.file = ARENA_NEW(arena, struct ast_file);
    lexer.file->source = source;
    // What it returns says less than the count of errors: after a recovery it is 0.
    int result = tile_parse(&lexer);
    lexer.file->failed = result != 0 || diagnostics->errors > lexer.errors_before;
    return lexer.file;
}
