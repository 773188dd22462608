"""Small source files of 20 programming languages, as their bytes matter: indents, tabs, line ends, marks at either end."""

SOURCE_FILES: dict[str, bytes] = {
    "hello.py": b'    # an indent of four\ndef greet(name):\n\treturn f"hello {name}"\n',
    "Makefile": b"\tall: build\n\nbuild:\n\tcc -o $@ main.c\n\n\n",
    "main.c": b'#include <stdio.h>\r\n\r\nint main(void) {\r\n\tputs("hi");\r\n}\r\n',
    "main.cpp": b"\xef\xbb\xbf#include <vector>\nstd::vector<int> v{1, 2};\n",
    "Program.cs": b"\xef\xbb\xbfusing System;\r\nclass Program { static void Main() { } }\r\n",
    "Main.java": b"package a;\n\nclass Main { char c = '\\u0000'; }",
    "main.go": b"package main\n\nfunc main() {\n\tprintln(`a\tb`)\n}\n",
    "lib.rs": b'fn main() {\n    println!("{}", "\xc3\xa9\xf0\x9f\xa6\x80");\n}\n\n',
    "app.js": b"\n\n// begins with two empty lines\nconst a = 1;\n",
    "app.ts": b"const a: number = 1; // ends with spaces   ",
    "style.rb": b"=begin\n  a comment\n=end\nputs <<~TEXT\n   x\nTEXT\n",
    "index.php": b'<?php\n$x = "a\\r\\n";\n?>\n<p>  </p>\n',
    "script.sh": b"#!/bin/sh\ncat <<-EOF\n\t\tindented\n\tEOF\n",
    "old.bas": b'10 PRINT "HI"\r20 GOTO 10\r',
    "form.lisp": b"\x0c\n;; a page of Emacs begins here\n(defun f (x) (* x x))\n",
    "blob.pl": b'my $s = "a\x00b\x00";\nprint $s;\n__END__\n\x00',
    "Main.hs": b'module Main where\n\nmain :: IO ()\nmain = do\n  putStrLn "x"\n   \n',
    "query.sql": b"  SELECT 1\r\n    FROM dual;\n\tGO\r\n",
    "deep.yaml": b"   - a: 1\n     b: |\n       x\n\n       y\n   \n",
    "proof.ml": b"let f x = x (* \xe2\x88\x80x. x = x \xe2\x80\xa8 *)\n\t;;\n\n",
}
"""By file name. CRLF, CR alone, tabs, leading and trailing blanks, NUL, form feed, byte order mark, U+2028, no line end."""
