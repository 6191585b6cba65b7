use super::Part;

/// Parses a multipart body; `None` if it is malformed or incomplete.
pub(crate) fn parse(content_type: &str, body: &[u8]) -> Option<Vec<Part>> {
    if !content_type
        .to_lowercase()
        .starts_with("multipart/form-data")
    {
        return None;
    }
    let boundary = parameter(content_type, "boundary")?;
    let delimiter = format!("--{boundary}");
    let mut rest = &body[find(body, delimiter.as_bytes())? + delimiter.len()..];
    let next = format!("\r\n{delimiter}");
    let mut parts = Vec::new();
    while let Some(part) = rest.strip_prefix(b"\r\n") {
        let end = find(part, next.as_bytes())?;
        parts.push(read(&part[..end])?);
        rest = &part[end + next.len()..];
    }
    rest.starts_with(b"--").then_some(parts)
}

fn read(part: &[u8]) -> Option<Part> {
    let end = find(part, b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&part[..end]).into_owned();
    let headers: Vec<(String, String)> = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let mut all = headers.iter();
    let (_, disposition) = all.find(|(name, _)| name == "content-disposition")?;
    Some(Part {
        name: parameter(disposition, "name")?,
        filename: parameter(disposition, "filename"),
        bytes: part[end + 4..].to_vec(),
        headers,
    })
}

/// Returns a parameter of a header value, quoted or not.
fn parameter(value: &str, name: &str) -> Option<String> {
    let start = format!("{name}=");
    let mut all = value.split(';').map(str::trim);
    let found = all.find_map(|one| one.strip_prefix(&start))?;
    Some(found.trim_matches('"').to_owned())
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_separated() {
        let body = b"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"my name.zip\"\r\nContent-Type: a/b\r\n\r\nP\r\n--K\r\n--x\r\nContent-Disposition: form-data; name=\"expire_in\"\r\n\r\n1 week\r\n--x--\r\n";
        let parts = parse("multipart/form-data; boundary=x", body).unwrap();
        assert_eq!(parts.len(), 2);
        assert_eq!(parts[0].filename.as_deref(), Some("my name.zip"));
        assert_eq!(parts[0].bytes, b"P\r\n--K");
        assert_eq!(parts[1].name, "expire_in");
        let cut = &body[..body.len() - 10];
        assert_eq!(parse("multipart/form-data; boundary=x", cut), None);
        assert_eq!(parse("text/plain", body), None);
    }
}
