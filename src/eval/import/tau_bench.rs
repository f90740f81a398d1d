//! Trajectories of tau-bench (Yao et al. 2024, `historical_trajectories/*.json`): `traj` holds messages as OpenAI has them.
//!
//! A trajectory that reached its goal (`reward` 1) is honest work throughout; of others it is not known which step went wrong.

use serde_json::{Value, json};

use super::messages;
use super::session::Session;

pub(super) fn read(documents: &[Value], name: &str) -> Vec<Session> {
    documents.iter().filter_map(|run| session(run, name)).collect()
}

fn session(run: &Value, name: &str) -> Option<Session> {
    let task = run.get("task_id").map_or_else(String::new, |id| format!("task-{id}-"));
    let mut session = Session::new(format!("{task}{name}"));
    let reached = run
        .get("reward")
        .and_then(Value::as_f64)
        .is_some_and(|reward| reward >= 1.0);
    let trajectory = run.get("traj").or_else(|| run.get("messages"))?.as_array()?;
    for message in trajectory {
        let mut message = message.clone();
        if let (true, Some(members)) = (reached, message.as_object_mut()) {
            members.insert("label".to_owned(), json!("allow"));
        }
        messages::log(&mut session, &Value::Array(vec![message]));
    }
    (!session.is_empty()).then_some(session)
}
