//! How rare four bytes are in what agents read and write: which part of a word a gate should look for.
//!
//! Figures measured on some megabytes of ordinary steps in several languages, mostly English; they decide about speed alone.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Classes of bytes: the letters, then white space, digits, the two signs that end sentences and clauses, other signs of
/// punctuation, and all the rest.
const CLASSES: usize = 31;

/// How many bits of surprise a byte of each class is, one hexadecimal digit each.
const ALONE: &[u8; CLASSES] = b"4655466649856546a55467796a33645";

/// The same for a byte behind one of the class of the line.
const BEHIND: [&[u8; CLASSES]; CLASSES] = [
    b"854587595b7353c6d34366886a45869",
    b"366626aa47a3784ac57949bc5b73849",
    b"375737c34e45ab38c5745bcb7c54859",
    b"4775378a48a89a4ae55958b97c24547",
    b"5744667a7ca553968335a6767b25657",
    b"566645bc3c84cb3bb4965c9b6e33759",
    b"49a929644bb68559b4584bad8a29566",
    b"39a81bc94cb8783bf6957bb98c39778",
    b"5745555bac845235854396e9d76c988",
    b"38aa249769978938a84928999987777",
    b"58a825783b96857ab9487a7b7a27546",
    b"3885379a3d938947e855589f4b3a647",
    b"3578299c4cb85944da6959bb5c39667",
    b"4a43463a58779758b94367cb7a39657",
    b"7756947978754256d35536599b3b87a",
    b"3b9639a64ec38a35d3645bab5c49769",
    b"7988a97979849799988a099a9985968",
    b"396528793c675648b55566ad5c3a657",
    b"595937b54c78895599435b8e7c2a446",
    b"4a8b3aa23fd78b38e5566c7b6c35657",
    b"5655496c5b9343a5d334aada9a4a988",
    b"29a91a9a2ca9aa5ab97a8abb9a77979",
    b"39a93ab32da7a53bd668a97abb38657",
    b"4a48479849a98a83998379a28847646",
    b"78895bab6bb85735c946ac8a5719446",
    b"3765188748868747985868676656757",
    b"45556576488656559544686b7b25b44",
    b"555555cdccccbbdccbb5ccdcc651536",
    b"8968997a89997997d887a9bbac03657",
    b"5555557769a66666b655789b8b32435",
    b"787777887a987687c767988a9e15442",
];

/// The four bytes in a row that are the commonest, the commonest first.
const COMMONEST: &str = concat!(
    "the  thetioning  to and  andatio for of for ion  you in ment proent e th is with witate  conctio",
    "ounthe sn thhat f thcall thayou  or thatof tnameionshe cted our  usetingith coun tra acc on s an",
    "s tos th be  stae a ng tanceyour a sdate if accoighte rein tuserouldr thuld  can comtimet thcard",
    " resccoumber nottherform shoservfromablee ofhe pspecentse foe torom actiare ity he fe cocan  dat",
    "emens inentipeci as s a kingnts e innot ress frong aor tecti intor a speconteconormaess catiusin",
    "estiatedlighicatdingshou addhouleratrate aree prstatratinati incon tstinhe r carscrirmat thied t",
    "intefliger tumbenumbons  perringnce cripripteciffileinat filhis listt ofs foes acompg th whesed ",
    "cessame thisworkporte anonaljecthe tinesonomconfrequtoolto t pre detneradataher cifid toreatunt ",
    "enermpleifieuse es tnal d th apptentranst totranionand tconoptio chahe aall sionnomyo th an rese",
    "checheckheregeneure any dres by ificcludnessust ddreto aeditbaseonfiout addrble prov allrenthe d",
    "singnclued adestincl recdentard ystestemnterte asystgent namist ter llow retagentinahe ud in my ",
    "redi a cere credrigiorigigin sysed oon at inlockre t serning whinten secive fic type it ts a any",
    " tim reqessate tsagen a h thore he n at catesine scr rephe m lisses tureymen wor crenew ailsaila",
    "ilabile e seckinicallineavaivailblocers busiest  plaon iect nd ar a ludeave ber valu bloine d on",
    "s ofchaner ocurrhen  hav base deipt archaymee capaymricefiedprictes rovired  expthinhaveng s che",
);

/// The class of a byte.
const fn class(byte: u8) -> usize {
    match byte.to_ascii_lowercase() {
        letter @ b'a'..=b'z' => (letter - b'a') as usize,
        b' ' | b'\n' | b'\r' | b'\t' => 26,
        b'0'..=b'9' => 27,
        b'.' | b',' => 28,
        b'-' | b'_' | b'/' | b':' | b'"' | b'\'' => 29,
        _ => 30,
    }
}

/// Bits of surprise that a digit of these tables stands for.
fn bits(digit: Option<&u8>) -> u32 {
    digit
        .and_then(|digit| char::from(*digit).to_digit(16))
        .unwrap_or_default()
}

/// How surprising a byte is, in bits.
fn surprise(byte: u8) -> u32 {
    bits(ALONE.get(class(byte)))
}

/// How surprising a byte is behind another, in bits.
fn surprise_behind(before: u8, byte: u8) -> u32 {
    bits(BEHIND.get(class(before)).and_then(|row| row.get(class(byte))))
}

/// How surprising four bytes in a row are, roughly, in bits: from pair to pair, or as the commonest were counted.
pub(super) fn surprise_of_four(four: [u8; 4]) -> u32 {
    static COUNTED: LazyLock<HashMap<&[u8], u32>> = LazyLock::new(|| {
        let fours = COMMONEST.as_bytes().chunks(4);
        // The commonest is one in 180, and the hundredth one in 1,800.
        fours
            .zip(0_u32..)
            .map(|(four, place)| (four, 7 + (place + 2).ilog2() / 2))
            .collect()
    });
    let lower = four.map(|byte| byte.to_ascii_lowercase());
    if let Some(counted) = COUNTED.get(&lower[..]) {
        return *counted;
    }
    let [first, ..] = lower;
    let pairs = lower.iter().zip(lower.iter().skip(1));
    surprise(first) + pairs.map(|(before, byte)| surprise_behind(*before, *byte)).sum::<u32>()
}

#[cfg(test)]
mod tests;
