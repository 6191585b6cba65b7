//! The bytes that images share: an engine stores each layer once.

/// The layers and bytes of an image; of a volume the bytes alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// The image's id.
    pub(crate) id: String,
    /// Its layers, the lowest first; none when it shares none.
    pub(crate) layers: Vec<String>,
    /// Its bytes.
    pub(crate) size: u64,
    /// The bytes that it shares with any other image: those of its lowest layers.
    pub(crate) shared: u64,
}

impl Footprint {
    /// Returns the bytes that it does not share.
    pub(crate) fn alone(&self) -> u64 {
        self.size.saturating_sub(self.shared)
    }

    /// Returns the bytes that its removal frees while `others` stay.
    pub(crate) fn freed<'s>(&self, others: impl Iterator<Item = &'s Self>) -> u64 {
        let kept = others.map(|other| self.common(other)).max();
        self.size.saturating_sub(kept.unwrap_or(0))
    }

    /// Returns the bytes that two images share.
    ///
    /// An engine reports no sizes of layers, only the largest share of each image. When both share more with a third image,
    /// the result is too large, so the freed bytes are never overstated.
    fn common(&self, other: &Self) -> u64 {
        let pairs = self.layers.iter().zip(&other.layers);
        let same = pairs.take_while(|(one, two)| one == two).count();
        match same {
            0 => 0,
            _ if same == self.layers.len() => self.size,
            _ if same == other.layers.len() => other.size,
            _ => self.shared.min(other.shared),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An image of layers, one for each letter; `a` has 1 byte, `b` 2, and so on.
    fn footprint(letters: &str, shared: &str) -> Footprint {
        let size = |letters: &str| letters.bytes().map(|it| u64::from(it - b'a') + 1).sum();
        Footprint {
            id: letters.to_owned(),
            layers: letters.chars().map(String::from).collect(),
            size: size(letters),
            shared: size(shared),
        }
    }

    #[test]
    fn shared_bytes_are_not_freed() {
        let check = |image: &Footprint, others: &[&Footprint], expect: u64| {
            let freed = image.freed(others.iter().copied());
            assert_eq!(freed, expect, "{image:?} {others:?}");
        };
        let (base, one, two) = (
            footprint("ab", "ab"),
            footprint("abc", "ab"),
            footprint("abd", "ab"),
        );
        let strange = footprint("xyz", "");
        check(&one, &[&two, &strange], 3);
        check(&one, &[&strange], 6);
        check(&base, &[&one], 0);
        check(&one, &[&base], 3);
        check(&base, &[], 3);
        check(&one, &[&one], 0);
        // The size of `a` alone is unknown: the result is too small, not too large.
        let (low, high) = (footprint("abc", "ab"), footprint("ade", "ad"));
        check(&low, &[&high], 3);
    }
}
