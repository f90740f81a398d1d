use super::opens_as_command;

#[test]
fn the_first_line_tells_a_shell_text_from_others() {
    for text in [
        "mv a b; ls # require('x')",
        "sudo node -e 'require(\"x\").y()'",
        "true; ls # f(1);",
        "# a note\nmake all\nimport os",
        "X=1; ls # require('x')",
        "(ls; pwd) # require('x')",
        "for f in a b; do ls; done # require('x')",
        "export A=1; ls # require('x')",
        "/bin/mv a b\nimport os",
        "'mv' a b\nimport os",
    ] {
        assert!(opens_as_command(text), "{text}");
    }
    for text in [
        "import os\nprint(1)",
        "const a = require('a');",
        "x = 5\nprint(x)",
        "foo(1);",
        "fs.rm('a')",
        "a.b.c\nprint(1)",
        "if x:\n    f(x)",
        "'use strict';\nlet a = require('a');",
        "(async () => {\n  await f();\n})();",
        "// first\nrun(x);",
        "export default a;",
        "for x in y:\n    f(x);",
        "\"\"\"Clean old files.\"\"\"\nimport os",
        "(function () { f(); })();",
    ] {
        assert!(!opens_as_command(text), "{text}");
    }
}
