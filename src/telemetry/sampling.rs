//! Head sampling: the choice of requests that are traced, made before anything of a trace is.

/// The choice of requests that are traced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sampling {
    /// The share of traces that begin here and are kept, 0 to 1.
    share: f64,
    /// True if a caller that sends a `traceparent` decides about its trace; else the share holds for it too.
    heeds_callers: bool,
}

impl Sampling {
    /// Returns the sampling that `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG` set, else the configured share.
    pub(super) fn of(configured: f64) -> Self {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        Self::named(
            &variable("OTEL_TRACES_SAMPLER"),
            &variable("OTEL_TRACES_SAMPLER_ARG"),
            configured,
        )
    }

    fn named(sampler: &str, argument: &str, configured: f64) -> Self {
        let (heeds_callers, sampler) = match sampler.strip_prefix("parentbased_") {
            Some(sampler) => (true, sampler),
            None => (false, sampler),
        };
        let share = match sampler {
            "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" => argument.parse().unwrap_or(1.0),
            // None is named, or one that is not known.
            _ => {
                return Self {
                    share: configured,
                    heeds_callers: true,
                };
            }
        };
        Self { share, heeds_callers }
    }

    /// Returns `true` if a request is traced; `of_caller` is what its caller decided, where it decided.
    pub(super) fn draws(self, of_caller: Option<bool>) -> bool {
        match of_caller.filter(|_| self.heeds_callers) {
            Some(decided) => decided,
            None => self.share >= 1.0 || random() < self.share,
        }
    }
}

/// Returns a number from 0 to 1.
fn random() -> f64 {
    const BITS: u32 = 53;
    let bits = uuid::Uuid::new_v4().as_u128() & ((1 << BITS) - 1);
    bits as f64 / (1_u64 << BITS) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_decides_about_its_trace_unless_a_sampler_is_named_that_does_not_ask() {
        for (sampler, argument, alone, sampled, unsampled) in [
            ("", "", false, true, false),
            ("no_such_sampler", "", false, true, false),
            ("always_on", "", true, true, true),
            ("always_off", "", false, false, false),
            ("traceidratio", "1.0", true, true, true),
            ("traceidratio", "0", false, false, false),
            ("parentbased_always_on", "", true, true, false),
            ("parentbased_traceidratio", "0.0", false, true, false),
        ] {
            let sampling = Sampling::named(sampler, argument, 0.0);
            assert_eq!(sampling.draws(None), alone, "{sampler}");
            assert_eq!(sampling.draws(Some(true)), sampled, "{sampler}");
            assert_eq!(sampling.draws(Some(false)), unsampled, "{sampler}");
        }
    }

    #[test]
    fn the_share_of_requests_that_are_traced_is_the_one_that_is_asked_for() {
        let sampling = Sampling::named("", "", 0.1);
        let drawn = (0..20_000).filter(|_| sampling.draws(None)).count();
        assert!((1_700..2_300).contains(&drawn), "{drawn}");
    }
}
