//! Which bytes an image has for itself: layers are kept once, however many images have them.

/// What an image is made of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// The image's id.
    pub(crate) id: String,
    /// Its layers, the lowest first; none where it shares none.
    pub(crate) layers: Vec<String>,
    /// How many bytes it has.
    pub(crate) size: u64,
    /// How many of them any other image has too: those of its lowest layers.
    pub(crate) shared: u64,
}

impl Footprint {
    /// Returns how many bytes no other image has.
    pub(crate) fn alone(&self) -> u64 {
        self.size.saturating_sub(self.shared)
    }

    /// Returns how many bytes are free when it goes and `others` stay.
    pub(crate) fn freed<'s>(&self, others: impl Iterator<Item = &'s Self>) -> u64 {
        let kept = others.map(|other| self.common(other)).max();
        self.size.saturating_sub(kept.unwrap_or(0))
    }

    /// Returns how many bytes two images have in common.
    ///
    /// An engine tells no sizes of layers, but what an image shares with that one with which it shares most.
    /// Where both share more with a third one the result is too large, so what is freed is never told too large.
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
    fn what_others_have_too_is_not_freed() {
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
        // What each of them shares is known, and `a` alone is not: too little is told, not too much.
        let (low, high) = (footprint("abc", "ab"), footprint("ade", "ad"));
        check(&low, &[&high], 3);
    }
}
