use super::size::TextOrNumber;
use bollard::models::DeviceRequest;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::collections::HashMap;
use std::str::FromStr;

/// GPUs in the words of docker's command line: `all`, `2`, `device=0,1`,
/// `"capabilities=compute,utility",driver=nvidia`.
///
/// Where docker wants quotes around a value with commas, they may be left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Gpus {
    text: String,
    request: DeviceRequest,
}

impl Gpus {
    /// Returns what was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns what the engine is asked for.
    pub fn request(&self) -> &DeviceRequest {
        &self.request
    }
}

/// Says what is wrong with a request for GPUs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no request for GPUs: {reason}; write all, 2, device=0,1 or capabilities=compute"
)]
pub struct GpusError {
    text: String,
    reason: &'static str,
}

impl FromStr for Gpus {
    type Err = GpusError;

    fn from_str(text: &str) -> Result<Self, GpusError> {
        let text = text.trim();
        let request = fields(text).and_then(request).map_err(|reason| GpusError {
            text: text.to_owned(),
            reason,
        })?;
        Ok(Self {
            text: text.to_owned(),
            request,
        })
    }
}

/// Splits into names and values. A part without a name belongs to the value before it.
fn fields(text: &str) -> Result<Vec<(String, Vec<String>)>, &'static str> {
    let mut fields: Vec<(String, Vec<String>)> = Vec::new();
    for part in text.replace('"', "").split(',') {
        let part = part.trim();
        if part.is_empty() {
            return Err("a part of it is empty");
        }
        let last = fields.last_mut();
        match (part.split_once('='), last) {
            // What a driver is told looks like a name and a value too.
            (Some(_), Some((name, values))) if name == "options" => values.push(part.to_owned()),
            (Some((name, value)), _) => fields.push((name.to_owned(), vec![value.to_owned()])),
            (None, Some((_, values))) => values.push(part.to_owned()),
            (None, None) => fields.push(("count".to_owned(), vec![part.to_owned()])),
        }
    }
    Ok(fields)
}

fn request(fields: Vec<(String, Vec<String>)>) -> Result<DeviceRequest, &'static str> {
    let mut request = DeviceRequest::default();
    for (name, values) in fields {
        let twice = match name.as_str() {
            "count" => request.count.replace(count(&values)?).is_some(),
            "device" => request.device_ids.replace(values).is_some(),
            "driver" => request.driver.replace(one(values)?).is_some(),
            "capabilities" => {
                let all = values.into_iter().chain(["gpu".to_owned()]).collect();
                request.capabilities.replace(vec![all]).is_some()
            }
            "options" => request.options.replace(options(&values)?).is_some(),
            _ => return Err("it has an unknown name"),
        };
        if twice {
            return Err("it has a name twice");
        }
    }
    if request.count.is_some() && request.device_ids.is_some() {
        return Err("it has a count and devices");
    }
    if request.device_ids.is_none() {
        request.count.get_or_insert(1);
    }
    let any = || vec![vec!["gpu".to_owned()]];
    request.capabilities.get_or_insert_with(any);
    Ok(request)
}

fn one(mut values: Vec<String>) -> Result<String, &'static str> {
    match values.pop() {
        Some(value) if values.is_empty() && !value.is_empty() => Ok(value),
        _ => Err("a name has not one value"),
    }
}

fn count(values: &[String]) -> Result<i64, &'static str> {
    match values {
        [all] if all == "all" => Ok(-1),
        [number] => number
            .parse()
            .ok()
            .filter(|it| *it > 0)
            .ok_or("its count is no number above 0"),
        _ => Err("it has several counts"),
    }
}

fn options(values: &[String]) -> Result<HashMap<String, String>, &'static str> {
    let pairs = values.iter().map(|it| {
        let (name, value) = it.split_once('=').ok_or("an option has no value")?;
        Ok((name.to_owned(), value.to_owned()))
    });
    pairs.collect()
}

impl<'de> Deserialize<'de> for Gpus {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = TextOrNumber::deserialize(input)?;
        text.0.parse().map_err(D::Error::custom)
    }
}
