CREATE TABLE guardian_heads (
    organisation text COLLATE "C" PRIMARY KEY,
    number bigint NOT NULL DEFAULT 0,
    hash bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex'),
    floor bigint NOT NULL DEFAULT 0,
    floor_hash bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex'),
    signed bigint NOT NULL DEFAULT 0,
    signed_at bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE TABLE guardian_records (
    organisation text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    time bigint NOT NULL,
    decision_id text COLLATE "C" NOT NULL,
    session text COLLATE "C",
    user_id text COLLATE "C",
    caller text COLLATE "C" NOT NULL,
    tool text COLLATE "C",
    decision text COLLATE "C",
    rules text COLLATE "C" NOT NULL,
    line text,
    salt bytea NOT NULL,
    content bytea NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (organisation, number)
);
CREATE UNIQUE INDEX guardian_records_decision_id ON guardian_records (decision_id);
CREATE INDEX guardian_records_time ON guardian_records (time);
CREATE INDEX guardian_records_session ON guardian_records (session, time) WHERE session IS NOT NULL;
CREATE INDEX guardian_records_user ON guardian_records (user_id, time) WHERE user_id IS NOT NULL;
CREATE INDEX guardian_records_caller ON guardian_records (caller, time);
CREATE INDEX guardian_records_tool ON guardian_records (tool, time) WHERE tool IS NOT NULL;
CREATE INDEX guardian_records_decision ON guardian_records (decision, time) WHERE decision <> 'allow';
CREATE INDEX guardian_records_rules ON guardian_records USING gin (string_to_array(rules, ' ')) WHERE rules <> ''
