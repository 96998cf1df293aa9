/**
 * Scribble and nuScr text with Referee's additions, as `docs/languages/scr.md` describes it. It accepts a little more than
 * `referee check` does: a grammar for colours and folding need not find mistakes.
 */
const list = (rule) => seq(rule, repeat(seq(",", rule)));

const OPERATORS = [
  ["||", 1], ["&&", 2], ["==", 3], ["!=", 3], ["=", 3], ["<>", 3], ["<", 4], ["<=", 4], [">", 4], [">=", 4], ["in", 4],
  ["+", 5], ["-", 5], ["*", 6], ["/", 6], ["%", 6],
];

module.exports = grammar({
  name: "referee",
  extras: ($) => [/\s/, $.comment],
  word: ($) => $.identifier,
  rules: {
    source_file: ($) =>
      repeat(choice($.pragma, $.module, $.import, $.type_declaration, $.foreign, $.external, $.protocol)),
    comment: () => token(choice(seq("//", /[^\n]*/), seq("(*)", /[^\n]*/), seq("/*", /[^*]*\*+([^/*][^*]*\*+)*/, "/"), seq("(*", /[^#*)]([^*]|\*[^)])*/, "*)"))),
    pragma: () => token(seq("(*#", /[^#]*/, "#*)")),
    identifier: () => /[\p{L}_][\p{L}\p{N}_']*/u,
    number: () => /[0-9]+(\.[0-9]+)?(ms|s|m|h)?/,
    string: () => /"(\\.|[^"\\\n])*"|'(\\.|[^'\\\n])*'/,
    qualified: ($) => prec.right(seq($.identifier, repeat(seq(".", $.identifier)))),
    module: ($) => seq("module", field("name", $.qualified), ";"),
    import: ($) => seq("import", field("name", $.qualified), optional(seq("as", field("alias", $.identifier))), ";"),
    type_declaration: ($) => seq("type", field("name", $.identifier), optional(seq("=", $._type)), ";"),
    foreign: ($) =>
      seq(choice("type", "data", "sig"), "<", $.qualified, ">", $.string, "from", $.string, "as", field("name", $.identifier), ";"),
    external: ($) =>
      seq("external", "fn", field("name", $.qualified), "(", optional(list($._type)), ")", "->", $._type, ";"),
    _type: ($) => choice($.named_type, $.list_type, $.tuple_type, $.record_type),
    named_type: ($) => seq($.qualified, optional(seq("@", $.identifier))),
    list_type: ($) => choice(seq("list", "<", $._type, ">"), seq("array", "[", $._type, "]")),
    tuple_type: ($) => seq("(", optional(list($._type)), ")"),
    record_type: ($) => seq("{", list(seq($.identifier, ":", $._type)), "}"),
    protocol: ($) =>
      seq(
        repeat(choice("global", "explicit", "aux", "nested")), "protocol", field("name", $.identifier),
        optional(seq("<", list(seq(choice("type", "sig", "data"), $.identifier)), ">")),
        "(", list($.role), optional(seq(";", list(seq(optional("new"), $.role)))), ")",
        optional(seq("per", field("key", $.identifier), ":", $._type)), field("body", $.block),
        optional(seq("interrupted", "by", $.message, "from", field("interrupter", $.identifier))),
      ),
    role: ($) => seq("role", field("name", $.identifier), optional(seq("[", $.identifier, "]")), optional(seq("as", $.identifier))),
    block: ($) => seq("{", repeat(choice($.protocol, $._statement)), "}"),
    _statement: ($) => choice($.exchange, $.choice, $.par, $.rec, $.continue, $.do, $.calls, $.sub_session, $.connection),
    exchange: ($) =>
      seq(
        $.message, choice("from", "connect"), field("sender", $.identifier), "to", list(field("receiver", $.identifier)),
        repeat($._time), optional(seq("where", $._expression, repeat($._time))), ";", optional(seq("@", $.string)),
      ),
    message: ($) => seq(optional(field("label", $._label)), "(", optional(list($.field)), ")"),
    _label: ($) => choice($.identifier, $.number, alias(choice("open", "close", token(prec(-1, /[0-9]+[\p{L}_][\p{L}\p{N}_]*/u))), $.identifier)),
    // An argument without a label is read as a type.
    labelled: ($) => seq(field("label", $._label), "(", optional(list($.field)), ")"),
    field: ($) => seq(optional(seq(field("name", $.identifier), ":")), $._type, optional($.refinement)),
    refinement: ($) => seq("{", $._expression, "}"),
    _time: ($) => choice($.within, $.after),
    within: ($) => seq("within", $._expression, optional(seq("of", field("label", $.identifier)))),
    after: ($) => seq("after", $._expression),
    choice: ($) => seq("choice", "at", field("role", $.identifier), optional($.within), $.block, repeat(seq("or", $.block))),
    par: ($) => seq("par", $.block, repeat(seq("and", $.block))),
    rec: ($) => seq("rec", field("name", $.identifier), optional(seq("[", list($.datum), "]")), $.block),
    datum: ($) =>
      seq(
        $.identifier, optional(seq("<", list($.identifier), ">")), ":",
        choice(seq($._type, optional($.refinement)), seq("(", $.identifier, ":", $._type, optional($.refinement), ")")), "=", $._expression,
      ),
    continue: ($) => seq("continue", field("name", $.identifier), optional(seq("[", list($._expression), "]")), ";"),
    do: ($) =>
      seq(
        "do", field("protocol", $.qualified), optional(seq("<", list(choice(alias($.labelled, $.message), $._type)), ">")),
        "(", list(seq($.identifier, optional(seq("as", $.identifier)))), ")", ";",
      ),
    calls: ($) => seq($.identifier, "calls", field("protocol", $.identifier), "(", list($.identifier), ")", ";"),
    sub_session: ($) =>
      choice(
        seq("open", field("protocol", $.qualified), "(", list($.identifier), ")", ";"),
        seq("close", field("protocol", $.qualified), optional(seq("(", list($.identifier), ")")), ";"),
      ),
    connection: ($) =>
      choice(
        seq(choice("connect", "wrap"), $.identifier, "to", $.identifier, ";"),
        seq("disconnect", $.identifier, "and", $.identifier, ";"),
      ),
    _expression: ($) =>
      choice($.number, $.string, $.boolean, $.identifier, $.unary, $.binary, $.conditional, $.call, $.member, $.index, $.list, $.parenthesised),
    boolean: () => choice("true", "false"),
    unary: ($) => prec(7, seq(choice("!", "-", "not"), $._expression)),
    binary: ($) => choice(...OPERATORS.map(([operator, level]) => prec.left(level, seq($._expression, operator, $._expression)))),
    conditional: ($) => prec.right(0, seq($._expression, "?", $._expression, ":", $._expression)),
    call: ($) => prec(8, seq(field("function", choice($.identifier, $.member)), "(", optional(list($._expression)), ")")),
    member: ($) => prec.left(9, seq($._expression, ".", $.identifier)),
    index: ($) => prec.left(9, seq($._expression, "[", $._expression, "]")),
    list: ($) => seq("[", optional(list($._expression)), "]"),
    parenthesised: ($) => seq("(", $._expression, ")"),
  },
});
