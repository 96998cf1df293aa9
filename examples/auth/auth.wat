;; The functions that auth.scr calls, as a module for `referee watch --functions auth.wasm`.
;; Assembled with `wat2wasm auth.wat`, or any other assembler; a test compares the two files.
(module
  (memory (export "memory") 1)
  ;; Memory from here on is free.
  (global $next (mut i32) (i32.const 16))

  ;; Where to put arguments: `size` bytes that nobody else uses; 0 if there are none. They are used again for
  ;; the next call, so nothing is ever freed.
  (func (export "alloc") (param $size i32) (result i32)
    (local $start i32) (local $pages i32)
    (local.set $start (global.get $next))
    (global.set $next (i32.add (local.get $start) (local.get $size)))
    ;; The pages of 64 KiB that are missing.
    (local.set $pages
      (i32.sub
        (i32.shr_u (i32.add (global.get $next) (i32.const 65535)) (i32.const 16))
        (memory.size)))
    (if (i32.gt_s (local.get $pages) (i32.const 0))
      (then
        (if (i32.eq (memory.grow (local.get $pages)) (i32.const -1))
          (then (return (i32.const 0))))))
    (local.get $start))

  ;; validName(string) -> bool: small letters only, at least one.
  (func (export "validName") (param $text i32) (param $length i32) (result i32)
    (local $end i32)
    (if (i32.eqz (local.get $length)) (then (return (i32.const 0))))
    (local.set $end (i32.add (local.get $text) (local.get $length)))
    (loop $next
      ;; Unsigned: what comes before `a` is a large number.
      (if (i32.gt_u (i32.sub (i32.load8_u (local.get $text)) (i32.const 97)) (i32.const 25))
        (then (return (i32.const 0))))
      (local.set $text (i32.add (local.get $text) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $text) (local.get $end))))
    (i32.const 1))

  ;; validToken(string, string) -> bool: the token starts with the user's name and a dash.
  (func (export "validToken")
    (param $token i32) (param $tokenLength i32) (param $name i32) (param $nameLength i32) (result i32)
    (local $end i32)
    (if (i32.le_u (local.get $tokenLength) (local.get $nameLength)) (then (return (i32.const 0))))
    (local.set $end (i32.add (local.get $name) (local.get $nameLength)))
    (block $same
      (loop $next
        (br_if $same (i32.eq (local.get $name) (local.get $end)))
        (if (i32.ne (i32.load8_u (local.get $token)) (i32.load8_u (local.get $name)))
          (then (return (i32.const 0))))
        (local.set $token (i32.add (local.get $token) (i32.const 1)))
        (local.set $name (i32.add (local.get $name) (i32.const 1)))
        (br $next)))
    (i32.eq (i32.load8_u (local.get $token)) (i32.const 45))))
