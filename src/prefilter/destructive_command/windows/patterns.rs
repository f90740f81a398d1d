//! What commands of Windows look like: one table of patterns, each behind words that have to be there first.

use crate::prefilter::destructive_command::Danger;

/// A pattern, the words of which one has to be in the text before it is tried, and what a match does.
pub(super) struct Pattern {
    pub danger: Danger,
    pub needles: &'static [&'static str],
    pub expression: &'static str,
    pub what: &'static str,
}

const fn pattern(
    danger: Danger,
    needles: &'static [&'static str],
    expression: &'static str,
    what: &'static str,
) -> Pattern {
    Pattern {
        danger,
        needles,
        expression,
        what,
    }
}

/// Every pattern; a test holds that all of them compile.
pub(super) const PATTERNS: &[Pattern] = &[
    pattern(
        Danger::DiskOverwrite,
        &["format"],
        r"(?i)(?:^|[\n;&|(]|/c\s)\s*format(?:\.com)?\s+[a-z]:(?:\s|/|$)",
        "formats a drive",
    ),
    pattern(
        Danger::DiskOverwrite,
        &["format-volume", "clear-disk", "initialize-disk"],
        r"(?i)\b(?:format-volume\s+-driveletter|clear-disk\b|initialize-disk\s)",
        "formats a drive",
    ),
    pattern(
        Danger::DecodedRun,
        &["powershell", "pwsh"],
        r"(?i)\b(?:powershell|pwsh)(?:\.exe)?\b[^\n|;&]*\s[-/]e(?:nc(?:odedcommand)?|c|ncoded)?\s+['\x22]?[a-z0-9+/=]{16,}",
        "runs an encoded command",
    ),
    pattern(
        Danger::PipeToShell,
        &["iex", "invoke-expression"],
        r"(?i)\b(?:iex|invoke-expression)\b[^\n;]*(?:downloadstring|invoke-webrequest|\biwr\b|invoke-restmethod|\birm\b|net\.webclient)",
        "runs what another machine sends, unseen",
    ),
    pattern(
        Danger::PipeToShell,
        &["iex", "invoke-expression"],
        r"(?i)(?:downloadstring|\biwr\b|\birm\b|invoke-webrequest|invoke-restmethod)[^\n;]*\|\s*(?:iex|invoke-expression)\b",
        "runs what another machine sends, unseen",
    ),
    pattern(
        Danger::PipeToShell,
        &["mshta"],
        r"(?i)\bmshta(?:\.exe)?\s+['\x22]?(?:https?:|vbscript:|javascript:)",
        "runs what another machine sends, unseen",
    ),
    pattern(
        Danger::PipeToShell,
        &["regsvr32"],
        r"(?i)\bregsvr32(?:\.exe)?\b[^\n]*/i:https?:",
        "runs what another machine sends, unseen",
    ),
    pattern(
        Danger::DecodedRun,
        &["frombase64string"],
        r"(?i)\b(?:iex|invoke-expression)\b[^\n;]*frombase64string",
        "decodes a text and runs it",
    ),
    pattern(
        Danger::ReverseShell,
        &["tcpclient"],
        r"(?is)net\.sockets\.tcpclient.{0,800}(?:\biex\b|invoke-expression|cmd(?:\.exe)?['\x22]|powershell)",
        "hands a shell to another machine",
    ),
    pattern(
        Danger::RecoveryOff,
        &["vssadmin", "shadowcopy", "wbadmin", "bcdedit"],
        r"(?i)(?:\bvssadmin(?:\.exe)?\s+(?:delete\s+shadows|resize\s+shadowstorage)|\bwmic\s+shadowcopy\s+delete|win32_shadowcopy\b[^\n]*(?:delete|remove)|\bwbadmin\s+delete\s+(?:catalog|backup|systemstatebackup)|\bbcdedit[^\n]*(?:recoveryenabled\s+no|bootstatuspolicy\s+ignoreallfailures|/delete\s))",
        "removes the copies from which the machine could be restored",
    ),
    pattern(
        Danger::DefenceOff,
        &["set-mppreference"],
        r"(?i)\bset-mppreference\b[^\n]*-disable\w+\s+(?:\$true|1)",
        "switches a protection off",
    ),
    pattern(
        Danger::DefenceOff,
        &["add-mppreference"],
        r"(?i)\badd-mppreference\b[^\n]*-exclusion",
        "switches a protection off",
    ),
    pattern(
        Danger::DefenceOff,
        &["set-netfirewallprofile"],
        r"(?i)\bset-netfirewallprofile\b[^\n]*-enabled\s+(?:false|\$false|0)",
        "switches a protection off",
    ),
    pattern(
        Danger::LogWipe,
        &["eventlog", "wevtutil"],
        r"(?i)\b(?:clear-eventlog\b|remove-eventlog\b|wevtutil(?:\.exe)?\s+(?:cl|clear-log)\s)",
        "removes traces of what was done",
    ),
    pattern(
        Danger::Accounts,
        &["new-localuser", "add-localgroupmember"],
        r"(?i)\b(?:new-localuser\b|add-localgroupmember\b[^\n]*administrators)",
        "grants administrator rights or changes passwords",
    ),
    pattern(
        Danger::Persistence,
        &["register-scheduledtask", "new-service", "schtasks"],
        r"(?i)(?:\b(?:register-scheduledtask\b|new-service\s+-|schtasks(?:\.exe)?\s+/create\b))",
        "installs something that runs at boot, at login or on a timer",
    ),
    pattern(
        Danger::Persistence,
        &["\\currentversion\\", "\\installed components", "appinit_dlls"],
        r"(?i)(?:\breg(?:\.exe)?\s+add|set-itemproperty|new-itemproperty)\b[^\n]*\\(?:currentversion\\(?:run|winlogon|image file execution options|policies\\explorer\\run)|active setup\\installed components|appinit_dlls)",
        "installs something that runs at boot, at login or on a timer",
    ),
    pattern(
        Danger::DeleteSystem,
        &["reg", "hklm:", "hkcu:", "hkcr:"],
        r"(?i)(?:\breg(?:\.exe)?\s+delete\s+['\x22]?(?:hklm|hkey_local_machine|hkcr|hkcu\\software\\microsoft)|\b(?:remove-item|ri)\b[^\n]*\b(?:hklm:\\(?:software|system|sam)?|hkcu:\\|hkcr:\\)(?:\*|['\x22]|\s|$))",
        "deletes settings of the system",
    ),
    pattern(
        Danger::DisguisedFetch,
        &[
            "certutil",
            "bitsadmin",
            "desktopimgdownldr",
            "esentutl",
            "hh.exe",
            "hh http",
        ],
        r"(?i)\b(?:certutil(?:\.exe)?\b[^\n]*[-/](?:urlcache|verifyctl|ping)\b[^\n]*https?:|certutil(?:\.exe)?\b[^\n]*[-/]decode\b[^\n]*\.(?:exe|dll|ps1|bat|vbs|scr|hta)\b|bitsadmin(?:\.exe)?\b[^\n]*/(?:transfer|addfile)\b|desktopimgdownldr\b[^\n]*https?:|esentutl(?:\.exe)?\b[^\n]*\\\\[a-z0-9.]|hh(?:\.exe)?\s+https?:)",
        "fetches a file with a tool that is made for something else",
    ),
    pattern(
        Danger::CredentialRead,
        &["reg", "lsass", "comsvcs"],
        r"(?i)\b(?:reg(?:\.exe)?\s+save\s+hklm\\(?:sam|security|system)|procdump\w*(?:\.exe)?\b[^\n]*lsass|comsvcs(?:\.dll)?[,\s][^\n]*minidump)",
        "reads password hashes",
    ),
    pattern(
        Danger::RecoveryOff,
        &["cipher"],
        r"(?i)\bcipher(?:\.exe)?\s+/w:['\x22]?[a-z]:\\?['\x22]?(?:\s|$)",
        "overwrites everything that a drive still remembers",
    ),
    pattern(
        Danger::WipeFile,
        &["cipher"],
        r"(?i)\bcipher(?:\.exe)?\s+/w:",
        "overwrites files so that they cannot be restored",
    ),
    pattern(
        Danger::PipeToShell,
        &["scriptblock"],
        r"(?i)\[scriptblock\]::create\([^\n]*(?:downloadstring|invoke-webrequest|\biwr\b|\birm\b|invoke-restmethod|net\.webclient)",
        "runs what another machine sends, unseen",
    ),
    pattern(
        Danger::PipeToShell,
        &["rundll32", "wmic", "msiexec", "cscript", "wscript", "regsvr32"],
        r"(?i)\b(?:rundll32(?:\.exe)?\s+(?:javascript:|vbscript:|\\\\[a-z0-9.]+\\|url\.dll,\s*openurl\s+https?:)|wmic\b[^\n]*/format:\s*['\x22]?https?:|msiexec(?:\.exe)?\b[^\n]*\shttp:|(?:cscript|wscript)(?:\.exe)?\b[^\n]*\\\\[a-z0-9.]+\\|regsvr32(?:\.exe)?\b[^\n]*\s\\\\[a-z0-9.]+\\)",
        "runs what another machine sends, unseen",
    ),
    pattern(
        Danger::DisguisedFetch,
        &[
            "shell32",
            "odbcconf",
            "cmstp",
            "pcalua",
            "forfiles",
            "call create",
            "installutil",
        ],
        r"(?i)\b(?:rundll32(?:\.exe)?\s+shell32(?:\.dll)?,\s*shellexec_rundll|odbcconf(?:\.exe)?\b[^\n]*regsvr|cmstp(?:\.exe)?\b[^\n]*/s\b|pcalua(?:\.exe)?\s+-a\b|forfiles\b[^\n]*/c\s+['\x22]?cmd|wmic\b[^\n]*\bprocess\s+call\s+create|installutil\b[^\n]*/u\b)",
        "runs a program with a tool that is made for something else",
    ),
    pattern(
        Danger::DecodedRun,
        &["[char]"],
        r"(?i)\[char\]\s*\d+(?:\s*\+\s*\[char\]\s*\d+){2,}",
        "spells a name in numbers",
    ),
    pattern(
        Danger::DecodedRun,
        &["assembly]::load"],
        r"(?i)assembly\]::load\(\s*[^\n]*(?:frombase64string|downloaddata|\$\w+\))",
        "loads code that was decoded or fetched",
    ),
    pattern(
        Danger::DefenceOff,
        &["amsi"],
        r"(?i)\bamsi(?:utils|initfailed|scanbuffer)\b",
        "switches a protection off",
    ),
    pattern(
        Danger::DefenceOff,
        &[
            "windefend",
            "msmpeng",
            "sense",
            "defender",
            "mpssvc",
            "sysmon",
            "eventlog",
        ],
        r"(?i)(?:\b(?:net\s+stop|stop-service|set-service|sc(?:\.exe)?\s+(?:stop|delete|config))\b[^\n]*(?:windefend|windows defender|mpssvc|\bsense\b|wscsvc|sysmon|eventlog)|\btaskkill\b[^\n]*(?:msmpeng|sysmon|mssense)|uninstall-windowsfeature\b[^\n]*defender|\breg(?:\.exe)?\s+add\b[^\n]*windows defender[^\n]*disable)",
        "switches a protection off",
    ),
    pattern(
        Danger::DefenceOff,
        &["enablelua", "runasppl", "fdenytsconnections", "uselogoncredential"],
        r"(?i)\breg(?:\.exe)?\s+add\b[^\n]*(?:(?:enablelua|runasppl|fdenytsconnections)\b[^\n]*/d\s+0|uselogoncredential\b[^\n]*/d\s+1)",
        "switches a protection off",
    ),
    pattern(
        Danger::LogWipe,
        &["historysavepath", "consolehost_history", "winevt"],
        r"(?i)\b(?:remove-item|del|ri|clear-content|erase)\b[^\n]*(?:historysavepath|consolehost_history|winevt\\logs)",
        "removes traces of what was done",
    ),
    pattern(
        Danger::DeleteRoot,
        &["forfiles", "robocopy"],
        r"(?i)\b(?:forfiles\b[^\n]*/p\s+['\x22]?[a-z]:\\?['\x22]?\s[^\n]*\bdel\b|robocopy\s+\S+\s+['\x22]?[a-z]:\\(?:users|windows)?\\?['\x22]?\s[^\n]*/(?:mir|purge))",
        "deletes everything on a drive",
    ),
    pattern(
        Danger::DeleteRoot,
        &["get-childitem", "gci ", "dir ", "ls "],
        r"(?i)\b(?:get-childitem|gci|ls|dir)\s+(?:-path\s+)?['\x22]?(?:[a-z]:\\(?:users|windows)?\\?|\$env:userprofile|\$home|~)['\x22]?\s[^\n|]*-r[^\n|]*\|[^\n]*(?:remove-item|\bri\b|\bdel\b|\.delete\(\))",
        "deletes everything on a drive or in a home directory",
    ),
    pattern(
        Danger::OpenPermissions,
        &["cacls", "takeown"],
        r"(?i)\b(?:i?cacls(?:\.exe)?\s+['\x22]?[a-z]:\\(?:windows[^\s'\x22]*)?['\x22]?\s[^\n]*(?:everyone|\*s-1-1-0)|takeown\b[^\n]*/f\s+['\x22]?[a-z]:\\(?:windows)?['\x22]?\s[^\n]*/r)",
        "changes rights or owners of a system directory",
    ),
    pattern(
        Danger::DiskOverwrite,
        &["diskpart", "remove-partition", "physicaldrive"],
        r"(?is)(?:\bdiskpart\b.{0,400}\bclean\b|\bclean\b.{0,400}\bdiskpart\b|\bremove-partition\b)",
        "erases a disk",
    ),
    pattern(
        Danger::StopEverything,
        &["stop-computer", "stop-process", "taskkill"],
        r"(?i)(?:\bstop-computer\b|\bstop-process\b[^\n]*-name\s+['\x22]?\*|get-process\s*\|\s*(?:stop-process|kill)|\btaskkill\b[^\n]*/im\s+(?:\*|lsass|csrss|winlogon|wininit|svchost))",
        "ends every process or stops the machine",
    ),
    pattern(
        Danger::ForkBomb,
        &["%0", "start-process", "start cmd", "start %0"],
        r"(?i)(?:%0\s*\|\s*%0|while\s*\(\s*(?:\$true|1)\s*\)\s*\{\s*start-process|:(\w+)\s*\n\s*start\s[^\n]*\n\s*goto\s)",
        "starts copies of itself without end",
    ),
    pattern(
        Danger::CredentialRead,
        &["mimikatz", "sekurlsa", "lsadump"],
        r"(?i)\b(?:invoke-mimikatz|sekurlsa::|lsadump::)",
        "reads password hashes",
    ),
    pattern(
        Danger::UnprotectedRun,
        &["downloadfile", "outfile", "bitstransfer"],
        r"(?is)(?:downloadfile\(|-outfile\s|start-bitstransfer\s).{0,400}(?:start-process|invoke-item|\bii\s|[;\n&]\s*&?\s*['\x22]?\.\\|start\s)",
        "runs a file that was fetched from the network just before",
    ),
];
