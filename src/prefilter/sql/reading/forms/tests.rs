use super::*;

fn read(blank: &str) -> Reading {
    let mut reading = Reading::default();
    by_form(blank, &(0..blank.len()), &mut reading);
    reading
}

#[test]
fn forms_are_known_by_their_whole() {
    for (text, expected) in [
        ("drop owned by app cascade", Trait::Drops),
        ("drop all objects", Trait::Drops),
        ("drop keyspace shop", Trait::Drops),
        ("drop tablespace ts including contents and datafiles", Trait::Drops),
        ("drop table orders purge", Trait::Drops),
        ("drop table tmp_orders purge", Trait::DropsMinor),
        ("delete u from users u", Trait::WritesEverywhere),
        ("delete top (1000000) from users", Trait::WritesEverywhere),
        ("delete users", Trait::WritesEverywhere),
        ("delete from users where exists (select 1)", Trait::WritesEverywhere),
        (
            "delete from users where id in (select id from users)",
            Trait::WritesEverywhere,
        ),
        (
            "delete from users where id = any(select id from users)",
            Trait::WritesEverywhere,
        ),
        ("delete from users where not 1=2", Trait::WritesEverywhere),
        (
            "merge into users t using users s on t.id=s.id when matched then delete",
            Trait::WritesEverywhere,
        ),
        ("replace into users select id,'' from users", Trait::WritesEverywhere),
        (
            "insert into users select * from users on duplicate key update name=''",
            Trait::WritesEverywhere,
        ),
        ("create or replace table users as select 1 limit 0", Trait::Drops),
    ] {
        let reading = read(text);
        let seen: Vec<Trait> = reading.traits.into_iter().map(|(seen, _)| seen).collect();
        assert!(reading.certain && seen.contains(&expected), "{text}: {seen:?}");
    }
    for text in [
        "drop table for two",
        "drop table a b c",
        "delete u from users u where u.id=7",
        "delete a from users a join users b on a.email=b.email and a.id>b.id",
        "delete from users where id in (select id from gone)",
        "delete from users where exists (select 1 from gone)",
        "merge into stock t using delivery s on t.sku=s.sku when matched then delete",
        "replace into settings(k,v) values ('','')",
        "insert into archive select * from orders",
        "create or replace table mart.daily as select * from sales",
    ] {
        assert!(!read(text).certain, "{text}");
    }
}

#[test]
fn every_form_compiles() {
    FORMS.check().unwrap();
    let forms = FORMS.get().iter();
    assert!(forms.flat_map(|form| &form.fits).all(|fits| fits.regex().is_some()));
}

#[test]
fn every_expression_of_the_table_compiles() {
    for form in FORMS.get() {
        assert!(
            form.fits.iter().all(|fits| fits.regex().is_some()),
            "{:?}",
            form.data.fits
        );
    }
}
