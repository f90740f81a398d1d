//! The claim of a body to come from an organisation. It changes nothing: the credential tells the organisation of a step. A body that names another
//! organisation that is served here was sent with the wrong credential, or is an attack.

use super::{OtherOrganisation, Refusal, Shared};
use crate::model::{Caller, OrganisationId, Step};
use crate::pipeline::Claim;

/// The places where a step names the organisation of its user (AOS 3.10), and an ACS envelope its tenant.
const PLACES: [&str; 5] = [
    "/params/context/user/organization/id",
    "/params/context/user/organization/name",
    "/params/context/identity/organization/id",
    "/params/context/identity/organization/name",
    "/params/tenant_id",
];

/// Refuses a step that names another organisation that is served here, or answers that it has to be denied.
pub(super) fn check(shared: &Shared, caller: &Caller, step: &Step) -> Result<Claim, Refusal> {
    let claims = step
        .contents
        .iter()
        .filter(|content| PLACES.contains(&content.pointer.as_str()));
    let another =
        |text: &str| text != caller.organisation.as_str() && shared.guardian.serves(&OrganisationId::new(text));
    let mut claims = claims.map(|content| content.text.trim());
    match shared.settings.other_organisation {
        OtherOrganisation::Refuse if claims.any(another) => Err(Refusal::ClaimsAnother),
        OtherOrganisation::Deny if claims.any(another) => Ok(Claim::Another),
        OtherOrganisation::Ignore | OtherOrganisation::Refuse | OtherOrganisation::Deny => Ok(Claim::Own),
    }
}
