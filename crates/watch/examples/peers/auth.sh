#!/bin/sh
# What one would write in a shell instead of `referee watch --protocol auth.scr`: jq picks, awk judges.
jq -r '[.session, .from, .label, (.payload.uname // .payload.tok // .payload.reqTok // .payload.rvkTok // "")] | @tsv' "$1" |
  awk -F '\t' '
    {
      state = states[$1]; fine = 0
      if (state == "" && $2 == "client" && $3 == "Auth" && $4 ~ /[a-z]+/) { fine = 1; next_state = "asked" }
      else if (state == "asked" && $2 == "server" && $3 == "Succ") { fine = 1; tokens[$1] = $4; next_state = "in" }
      else if (state == "asked" && $2 == "server" && $3 == "Fail") { fine = 1; next_state = "" }
      else if (state == "in" && $2 == "client" && $3 == "Get" && $4 == tokens[$1]) { fine = 1; next_state = "got" }
      else if (state == "in" && $2 == "client" && $3 == "Rvk" && $4 == tokens[$1]) { fine = 1; next_state = "over" }
      else if (state == "got" && $2 == "server" && $3 == "Res") { fine = 1; next_state = "in" }
      else if (state == "got" && $2 == "server" && $3 == "Timeout") { fine = 1; next_state = "" }
      if (fine) states[$1] = next_state
      else { violations++; print $1, $2, $3 }
    }
    END { print violations + 0, "violations" > "/dev/stderr" }'
