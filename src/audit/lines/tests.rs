//! Files of records: their chains hold over restarts, rotations and several writers, and every change is found.

use std::collections::HashMap;

use super::super::file::appending;
use super::*;

fn line(organisation: &str, n: usize) -> String {
    format!(
        "{{\"time\":\"2026-11-23T19:00:{:02}Z\",\"decision_id\":\"{organisation}-{n}\",\"organisation\":\"{organisation}\",\
         \"caller\":\"key-1\",\"session\":\"s{}\",\"tool\":null,\"decision\":\"allow\",\"findings\":[]}}",
        n % 60,
        n % 5
    )
}

fn signer() -> Signer {
    Signer::parse(&BASE64.encode([1; 32])).unwrap()
}

fn write(file: &mut ChainedFile, organisation: &str, numbers: std::ops::Range<usize>) {
    for n in numbers {
        writeln!(file, "{}", line(organisation, n)).unwrap();
        file.flush().unwrap();
    }
}

fn verify(paths: &[&Path]) -> Verified {
    let paths = paths.iter().map(|path| path.to_path_buf());
    AuditFiles(paths.collect()).verify(&[]).unwrap()
}

/// How many records are there, where every chain holds.
fn whole(paths: &[&Path]) -> u64 {
    let verified = verify(paths);
    assert_eq!(verified.breaks, Vec::new());
    verified.records
}

#[test]
fn a_line_keeps_what_it_says_and_tells_its_place() {
    let mut head = Head::default();
    let text = line("acme", 1);
    let row = head.append(Facts::of(&text), text.clone());
    let written = line_of(&row).unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(&written).unwrap()["chain"]["number"] == 1);
    let read = row_of(written.as_bytes()).unwrap();
    assert_eq!((read.number, read.hash, read.line), (1, row.hash, Some(text)));
    // What says the same in other bytes was not written here.
    for other in [
        written.replace("number\":1", "number\":01"),
        written.replace("number\":1", "number\": 1"),
        written.replace("}}", "} }"),
    ] {
        assert!(row_of(other.as_bytes()).is_none(), "{other}");
    }
}

#[test]
fn chains_go_on_after_a_restart_with_and_without_what_was_noted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    for round in 0..3 {
        let mut file = ChainedFile::open(&path, None).unwrap();
        write(&mut file, "acme", 10 * round..10 * round + 10);
        write(&mut file, "other", round..round + 1);
        if round == 1 {
            // As after a forced end: what is noted is old, and the last line is torn.
            let noted = std::fs::read(beside(&path)).unwrap();
            write(&mut file, "acme", 100..105);
            drop(file);
            std::fs::write(beside(&path), &noted[..noted.len() - 7 * round]).unwrap();
            appending(&path).unwrap().write_all(b"{\"time\":\"20").unwrap();
        }
    }
    assert_eq!(whole(&[&path]), 38);
    std::fs::remove_file(beside(&path)).unwrap();
    assert_eq!(whole(&[&path]), 38);
    write(&mut ChainedFile::open(&path, None).unwrap(), "acme", 200..201);
    assert_eq!(whole(&[&path]), 39);
}

#[test]
fn chains_go_on_in_the_next_file_when_one_is_moved_away_or_cut() {
    let folder = tempfile::tempdir().unwrap();
    let (path, moved) = (folder.path().join("audit.jsonl"), folder.path().join("audit.jsonl.1"));
    let mut file = ChainedFile::open(&path, Some(signer())).unwrap();
    write(&mut file, "acme", 0..10);
    write(&mut file, "rare", 0..1);
    std::fs::rename(&path, &moved).unwrap();
    write(&mut file, "acme", 10..20);
    // The other chain has no record there, and that is no gap.
    let (first, second) = (whole(&[&moved]), whole(&[&path]));
    assert_eq!(whole(&[&moved, &path]), first + second);
    drop(file);
    // `copytruncate` while no guardian runs.
    let copied = folder.path().join("audit.jsonl.2");
    std::fs::copy(&path, &copied).unwrap();
    std::fs::write(&path, "").unwrap();
    let mut file = ChainedFile::open(&path, Some(signer())).unwrap();
    write(&mut file, "rare", 1..3);
    write(&mut file, "acme", 20..21);
    let in_all = whole(&[&moved, &copied, &path]);
    assert_eq!(in_all, first + second + whole(&[&path]));
    // Without the file in the middle something is missing, and an older one does not count as this one.
    assert!(!verify(&[&moved, &path]).breaks.is_empty());
    drop(file);
    std::fs::copy(&moved, &path).unwrap();
    write(&mut ChainedFile::open(&path, None).unwrap(), "acme", 30..31);
    assert!(!verify(&[&path]).breaks.is_empty());
}

#[test]
fn several_writers_make_one_chain_also_while_the_file_is_moved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let moved: Vec<PathBuf> = (0..3).map(|n| folder.path().join(format!("audit.{n}"))).collect();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let path = &path;
            scope.spawn(move || {
                let mut file = ChainedFile::open(path, Some(signer())).unwrap();
                for n in 0..50 {
                    let organisation = if n % 7 == 0 { "rare" } else { "acme" };
                    write(&mut file, organisation, 1_000 * writer + n..1_000 * writer + n + 1);
                    if n == 20 {
                        file = ChainedFile::open(path, Some(signer())).unwrap();
                    }
                }
            });
        }
        for moved in &moved {
            std::thread::sleep(std::time::Duration::from_millis(5));
            // It may not be there again yet.
            let _ = std::fs::rename(&path, moved);
        }
    });
    let files: Vec<&Path> = moved
        .iter()
        .chain([&path])
        .map(PathBuf::as_path)
        .filter(|path| path.exists())
        .collect();
    whole(&files);
    let mut seen = HashMap::new();
    let files = AuditFiles(files.into_iter().map(Path::to_path_buf).collect());
    files
        .export(None, |line| {
            *seen.entry(Facts::of(line).decision_id).or_insert(0) += usize::from(!line.contains("audit/"))
        })
        .unwrap();
    assert_eq!(seen.values().filter(|times| **times == 1).count(), 200);
}

#[test]
fn what_was_written_before_there_were_chains_is_told_and_what_is_put_in_later_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    std::fs::write(&path, format!("{}\n{}\n{{\"torn", line("acme", 0), line("acme", 1))).unwrap();
    write(&mut ChainedFile::open(&path, None).unwrap(), "acme", 2..5);
    let verified = verify(&[&path]);
    assert_eq!(
        (verified.unchained, verified.records, verified.breaks),
        (2, 3, Vec::new())
    );
    appending(&path)
        .unwrap()
        .write_all((line("acme", 9) + "\n").as_bytes())
        .unwrap();
    assert_eq!(verify(&[&path]).breaks[0].what, "it has no place in a chain");
}

#[test]
fn a_thousand_tampering_tries_are_all_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let mut file = ChainedFile::open(&path, Some(signer())).unwrap();
    for n in 0..25 {
        write(&mut file, "acme", n..n + 1);
        write(&mut file, "other", n..n + 1);
    }
    drop(file);
    let keys = [signer().public_key().to_vec()];
    let files = AuditFiles(vec![path.clone()]);
    assert_eq!(files.verify(&keys).unwrap().breaks, Vec::new());
    let text = std::fs::read(&path).unwrap();
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let mut state = 7_u64;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for tried in 0..1_000 {
        let (one, other) = (next(lines.len()), next(lines.len() - 1));
        let other = if other >= one { other + 1 } else { other };
        let mut changed = lines.clone();
        let mut bytes = None;
        match tried % 5 {
            0 | 1 => {
                let mut flipped = text.clone();
                flipped[next(text.len())] ^= 1 << next(8);
                bytes = Some(flipped);
            }
            2 => drop(changed.remove(one)),
            3 => changed.swap(one, other),
            _ => changed.insert(other, lines[one]),
        }
        // Lines of two organisations may stand in any order.
        let organisation = |line: &[u8]| memmem::find(line, b"\"organisation\":\"acme\"").is_some();
        if tried % 5 == 3
            && lines[one.min(other)..=one.max(other)]
                .iter()
                .any(|line| organisation(line) != organisation(lines[one]))
        {
            let of = |acme| changed.iter().filter(move |line| organisation(line) == acme);
            let was = |acme| lines.iter().filter(move |line| organisation(line) == acme);
            if [true, false].iter().all(|acme| of(*acme).eq(was(*acme))) {
                continue;
            }
        }
        std::fs::write(&path, bytes.unwrap_or_else(|| changed.concat())).unwrap();
        assert!(
            !files.verify(&keys).unwrap().breaks.is_empty(),
            "{tried}: {one} {other}"
        );
    }
    std::fs::write(&path, &text).unwrap();
    assert_eq!(files.verify(&keys).unwrap().breaks, Vec::new());
}

#[test]
fn records_in_files_are_searched_as_in_databases() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let mut file = ChainedFile::open(&path, Some(signer())).unwrap();
    write(&mut file, "acme", 0..20);
    write(&mut file, "other", 0..20);
    let files = AuditFiles(vec![path]);
    let query = Query {
        organisation: Some("acme".to_owned()),
        session: Some("s3".to_owned()),
        limit: 3,
        ..Query::default()
    };
    assert_eq!(files.search(&query).unwrap(), [18, 13, 8].map(|n| line("acme", n)));
    let id = Query {
        decision_id: Some("other-1".to_owned()),
        limit: 100,
        ..Query::default()
    };
    assert_eq!(files.search(&id).unwrap().len(), 11);
    let all = Query {
        limit: 100,
        ..Query::default()
    };
    assert_eq!(
        files.search(&all).unwrap().len(),
        40,
        "checkpoints are found by their id only"
    );
}

#[test]
fn a_disk_that_is_full_leaves_no_half_of_a_batch() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let mut file = ChainedFile::open(&path, None).unwrap();
    write(&mut file, "acme", 0..3);
    // The file that is written to may be read only: no write succeeds.
    let open = file.open.as_mut().unwrap();
    open.file = File::open(&path).unwrap();
    writeln!(file, "{}", line("acme", 3)).unwrap();
    assert!(file.flush().is_err());
    write(&mut file, "acme", 3..5);
    assert_eq!(whole(&[&path]), 5);
}
