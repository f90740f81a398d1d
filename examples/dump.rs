#![allow(
    clippy::all,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::panic
)]
use aos_guardian::{app, audit, config, eval};
use std::io::Write;
use std::path::PathBuf;
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut args = std::env::args().skip(1);
    let out = args.next().unwrap();
    let paths: Vec<PathBuf> = args.map(PathBuf::from).collect();
    let cases = eval::read(&paths).unwrap();
    let mut config = config::load(None).unwrap();
    config.judge = None;
    let guardian = app::guardian_with_profiles(&config, &audit::Settings::Off).unwrap();
    let mut limits = config.wire;
    limits.max_body_bytes = usize::MAX;
    let runner = eval::Runner {
        guardian: &guardian,
        organisations: eval::Organisations::PerProfile(app::profile_organisation),
        limits,
        history: eval::History::Replayed,
        bench: eval::Bench::Own,
    };
    let mut meta = std::io::BufWriter::new(std::fs::File::create(format!("{out}.jsonl")).unwrap());
    let mut bin = std::io::BufWriter::new(std::fs::File::create(format!("{out}.bin")).unwrap());
    for case in &cases {
        let sketch = match runner.sketch(case).await {
            Ok(s) => s,
            Err(e) => {
                eprintln!("{}: {e}", case.id);
                continue;
            }
        };
        let figs: Vec<String> = sketch.figures.iter().map(|v| format!("{v:.4}")).collect();
        writeln!(meta, "{{\"id\":{:?},\"source\":{:?},\"group\":{:?},\"label\":{:?},\"policy\":{:?},\"kind\":{:?},\"part\":{},\"figures\":[{}],\"windows\":{}}}", case.id, case.source, case.group, case.expected.decision.as_str(), case.expected.policy, "-", sketch.part, figs.join(","), sketch.windows.len()).unwrap();
        let mut w = |v: u32| bin.write_all(&v.to_le_bytes()).unwrap();
        w(sketch.step.len() as u32);
        for id in &sketch.step {
            w(*id);
        }
        w(sketch.windows.len() as u32);
        for win in &sketch.windows {
            w(win.voice as u32);
            w(win.ids.len() as u32);
            for id in &win.ids {
                w(*id);
            }
        }
    }
}
