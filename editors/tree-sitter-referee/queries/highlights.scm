[
  "module" "import" "as" "type" "data" "sig" "external" "fn" "global" "explicit" "aux" "nested" "protocol" "role" "new"
  "per" "interrupted" "by"
  "from" "to" "at" "and" "in" "not" "where" "within" "after" "of"
] @keyword
["choice" "or" "par" "and" "rec" "continue" "do" "calls" "open" "close" "connect" "disconnect" "wrap"] @keyword.control
["->" "||" "&&" "==" "!=" "=" "<>" "<" "<=" ">" ">=" "+" "-" "*" "/" "%" "!" "?"] @operator
["(" ")" "{" "}" "[" "]"] @punctuation.bracket
[";" "," ":" "." "@"] @punctuation.delimiter
(comment) @comment
(pragma) @attribute
(string) @string
(number) @number
(boolean) @constant.builtin
(named_type) @type
(protocol name: (identifier) @type.definition)
(role name: (identifier) @variable.parameter)
(exchange sender: (identifier) @variable.parameter)
(exchange receiver: (identifier) @variable.parameter)
(choice role: (identifier) @variable.parameter)
(message label: _ @function)
(field name: (identifier) @property)
(rec name: (identifier) @label)
(continue name: (identifier) @label)
(do protocol: (qualified) @type)
(calls protocol: (identifier) @type)
(call function: (identifier) @function.call)
(type_declaration name: (identifier) @type.definition)
