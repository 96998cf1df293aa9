//! Records of what monitors explain: one meaning of each key, whoever found it.

use referee_monitor::{Explanation, FaultExplanation, FaultKind, Kind};
use referee_theory::expr::Value as Datum;
use serde_json::{Map, Value};

use crate::{VerdictClass, VerdictRecord};

impl From<&Explanation> for VerdictRecord {
    /// What is broken, by whom and where; not when, in which session, nor what was done.
    fn from(explanation: &Explanation) -> Self {
        let mut record = Self {
            kind: explanation.kind.name().to_owned(),
            blame: explanation.blame.as_deref().map(str::to_owned),
            state: Some(explanation.state.clone()),
            expected: explanation.expected.iter().map(|expected| expected.signature.clone()).collect(),
            paper_rule: Some(explanation.rejection.name().to_owned()),
            message: explanation.to_string(),
            ..Self::default()
        };
        record.set_label(explanation.kind, explanation.got.as_deref());
        if let Some(assertion) = &explanation.assertion {
            record.assertion = Some(assertion.assertion.clone());
            record.values =
                assertion.values.iter().map(|(name, value)| (name.to_string(), json_value(value))).collect();
        }
        record
    }
}

impl From<&FaultExplanation> for VerdictRecord {
    fn from(explanation: &FaultExplanation) -> Self {
        let kind = match explanation.kind {
            FaultKind::Predicate => "predicate",
            FaultKind::TooManyEarly => "too-many-early",
            FaultKind::UnnamedPeer => "unnamed-peer",
        };
        let assertion = explanation.assertion.as_ref();
        let message = match assertion.and_then(|failure| Some((&failure.assertion, failure.error.as_ref()?)))
        {
            Some((assertion, why)) => {
                format!("nobody is to blame: whether `{assertion}` holds could not be told: {why}")
            }
            None => format!("nobody is to blame: the monitor could not tell ({kind})"),
        };
        Self {
            verdict: VerdictClass::Fault,
            kind: kind.to_owned(),
            state: Some(explanation.state.clone()),
            assertion: assertion.map(|failure| failure.assertion.clone()),
            message,
            ..Self::default()
        }
    }
}

impl VerdictRecord {
    /// `got` came, and is wrong in the way `kind`.
    pub fn set_label(&mut self, kind: Kind, got: Option<&str>) {
        let is_known = !matches!(kind, Kind::Label | Kind::Malformed | Kind::PrematureEnd);
        self.got = got.map(str::to_owned);
        self.label = self.got.clone().filter(|_| is_known);
    }
}

/// A value of a payload variable. Floats that JSON cannot write, and bytes, are text.
#[must_use]
pub fn json_value(value: &Datum) -> Value {
    match value {
        Datum::Unit => Value::Null,
        Datum::Bool(value) => (*value).into(),
        Datum::Int(value) => (*value).into(),
        Datum::Float(value) => {
            serde_json::Number::from_f64(*value).map_or_else(|| value.to_string().into(), Value::Number)
        }
        Datum::String(text) | Datum::Opaque(text) => text.to_string().into(),
        Datum::List(values) | Datum::Tuple(values) => values.iter().map(json_value).collect(),
        Datum::Record(fields) => Value::Object(
            fields.iter().map(|(name, value)| (name.to_string(), json_value(value))).collect::<Map<_, _>>(),
        ),
        other => other.to_string().into(),
    }
}
