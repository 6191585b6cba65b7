/// The longest message of the other side that goes on, to the log of a job or to the service.
const LONGEST: usize = 4096;

/// Returns a message as it goes on: who wrote it is not trusted to be brief.
pub(super) fn shortened(mut words: String) -> String {
    words.truncate(words.floor_char_boundary(LONGEST));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_end_with_a_whole_character() {
        assert_eq!(shortened("\u{e4}".repeat(5000)).len(), LONGEST);
        assert_eq!(shortened("\u{20ac}".repeat(5000)).len(), LONGEST - 1);
        assert_eq!(shortened("short".to_owned()), "short");
    }
}
