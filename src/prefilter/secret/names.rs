//! Names of secrets: which words in a name promise one, and which words around them take the promise back.

/// What a name promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    /// Something that a person may have chosen.
    Password,
    /// Something that a machine made.
    Token,
    /// Something that is only sometimes a secret.
    Key,
}

#[rustfmt::skip]
const PASSWORDS: &[&str] = &[
    "password", "passwd", "passphrase", "passcode", "pass", "pwd", "pw", "passwort", "kennwort", "contrasena",
    "mot de passe", "senha", "wachtwoord", "haslo", "contraseña", "palavra-passe", "parola", "lösenord", "adgangskode",
    "пароль", "Пароль", "密码", "密碼", "パスワード", "비밀번호", "كلمة المرور", "סיסמה", "şifre", "heslo", "jelszó", "κωδικός",
    "wifi key", "wi-fi key", "wlan key",
    "rootpw", "rootpass", "userpass", "userpw", "adminpw", "adminpass", "dbpw", "dbpass", "bindpw", "storepass", "keypass",
];

#[rustfmt::skip]
const TOKENS: &[&str] = &[
    "secret", "token", "api_key", "api-key", "apikey", "api key", "access_key", "access-key", "accesskey",
    "access key", "private_key", "private-key", "privatekey", "auth_key", "auth-key", "authkey", "encryption_key",
    "encryptionkey", "encryption-key", "signing_key", "signingkey", "signing-key", "master_key", "masterkey",
    "master-key", "credential", "client_key", "service_key", "account_key", "storage_key", "license_key",
    "webhook_key", "jwt_key", "session_key", "sessionid", "session_id", "auth_code", "invoker", "secretkey", "secret_key",
    "secret-key", "secret key", "hmac_key", "hmackey", "appkey", "app_key", "app-key", "credentials", "subscription_key",
    "subscriptionkey", "subscription-key", "ocp-apim-subscription-key", "licensekey", "license-key", "clientsecret",
    "apitoken", "authtoken", "accesstoken", "recovery key", "security_token", "shared_key", "sharedkey", "host_key",
    "deploy_key", "admin_key", "server_key", "crypt_key", "cipher_key", "aes_key", "accountkey", "storagekey", "servicekey", "clientkey", "sessionkey", "jwtkey", "webhookkey", "deploykey",
    "signing key", "encryption key", "master key", "account key", "license key", "session key", "app key", "auth key",
    "shared key", "storage key", "service key", "private token", "recovery phrase", "hmac-key", "hmac key", "account-key", "storage-key", "session-key", "service-key",
    "client-key", "deploy-key", "deploy key", "webhook-key", "shared-key",
];

const KEYS: &[&str] = &["key"];

/// Words after which a name does not stand for the secret itself.
#[rustfmt::skip]
const NOT_AFTER: &[&str] = &[
    "id", "ids", "name", "names", "url", "uri", "path", "file", "filename", "type", "count", "length", "len", "size",
    "limit", "expiry", "expires", "expiration", "ttl", "hint", "policy", "field", "fields", "label", "reset",
    "change", "changed", "updated", "at", "in", "index", "prefix", "suffix", "ref", "reference", "arn", "version",
    "format", "regex", "pattern", "provider", "manager", "store", "validator", "encoder", "required", "min", "max",
    "usage", "budget", "price", "cost", "rotation", "age", "status", "error", "endpoint", "header", "param",
    "parameter", "algorithm", "env", "var", "variable", "strength", "rules", "code", "kind", "scope", "scopes",
    "less", "card", "vault", "engine", "hash", "fingerprint", "map", "list", "set", "pair", "board", "word", "words",
    "stone", "note", "press", "down", "up", "frame", "frames", "value", "values", "er", "ization", "ize",
];

/// Words before which a name is not that of a secret.
#[rustfmt::skip]
const NOT_BEFORE: &[&str] = &[
    "public", "page", "next", "prev", "previous", "pagination", "continuation", "cursor", "sync", "csrf", "xsrf",
    "max", "min", "num", "total", "input", "output", "prompt", "completion", "primary", "foreign", "sort",
    "partition", "cache", "idempotency", "hot", "object", "row", "map", "dict", "unique", "translation", "i18n",
    "registry", "no", "reset", "forgot", "special", "stop", "pad", "eos", "bos", "unk", "sep", "mask", "cancellation",
    "change", "dedupe", "routing", "answer", "group", "lookup", "s3", "issue", "project", "ssh_host", "host",
    "publishable", "site", "anon", "meter", "rsa", "ed25519", "turn", "left", "right",
];

/// The names of the gate, with what they promise.
pub(super) fn keywords() -> impl Iterator<Item = (&'static str, Label)> {
    let all = |names: &'static [&'static str], label| names.iter().map(move |name| (*name, label));
    all(PASSWORDS, Label::Password)
        .chain(all(TOKENS, Label::Token))
        .chain(all(KEYS, Label::Key))
}

/// Whether a name stands for the secret itself and not for something around it.
pub(super) fn names_a_secret(before: &str, keyword: &str, after: &str, label: Label) -> bool {
    // `tokens`, `keyboard`, `secretary`: the keyword goes on as another word.
    let goes_on = after.starts_with(|c: char| c.is_ascii_lowercase())
        && !(keyword.ends_with(char::is_uppercase) || is_plain_suffix(after));
    if goes_on || words(after).any(|word| is_listed(word, NOT_AFTER)) {
        return false;
    }
    let closest = words(before).last();
    if closest.is_some_and(|word| is_listed(word, NOT_BEFORE)) {
        return false;
    }
    match label {
        // `monkey`, `donkey`: a bare `key` has to be a word of its own, in a longer name.
        Label::Key => closest.is_some() && (before.ends_with(['_', '-', '.']) || keyword.starts_with('K')),
        // `bypass`, `compass`: a short word has to be a word of its own.
        Label::Password => keyword.len() > 4 || alone(before, keyword, after),
        Label::Token => true,
    }
}

/// Whether a keyword is a whole word of its name.
fn alone(before: &str, keyword: &str, after: &str) -> bool {
    let capital = keyword.starts_with(char::is_uppercase);
    let word = capital && keyword.ends_with(char::is_lowercase);
    let begins = !before.ends_with(|c: char| c.is_ascii_alphanumeric())
        || capital && before.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        // `DBPass`, but not `COMPASS`.
        || word && before.ends_with(|c: char| c.is_ascii_uppercase());
    begins && !after.starts_with(|c: char| c.is_ascii_alphanumeric())
}

fn is_plain_suffix(after: &str) -> bool {
    after.bytes().take_while(u8::is_ascii_alphabetic).count() == 0
}

fn is_listed(word: &str, list: &[&str]) -> bool {
    list.iter().any(|listed| listed.eq_ignore_ascii_case(word))
}

/// The words of a name in any of the usual spellings.
fn words(name: &str) -> impl Iterator<Item = &str> {
    let humps = |piece| {
        let mut last_small = false;
        let begins = move |c: char| {
            let begins = c.is_ascii_uppercase() && last_small;
            last_small = c.is_ascii_lowercase() || c.is_ascii_digit();
            begins
        };
        split_before(piece, begins)
    };
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|piece| !piece.is_empty())
        .flat_map(humps)
}

/// A piece of ASCII in parts, each of which begins where `begins` says so.
fn split_before(piece: &str, mut begins: impl FnMut(char) -> bool) -> impl Iterator<Item = &str> {
    let mut rest = piece;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        begins(first);
        let end = rest
            .char_indices()
            .skip(1)
            .find(|(_, c)| begins(*c))
            .map_or(rest.len(), |(at, _)| at);
        let (part, behind) = rest.split_at_checked(end)?;
        rest = behind;
        Some(part)
    })
}
