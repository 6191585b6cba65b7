use super::*;
use crate::Stamper;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

type Texts = BTreeMap<TraceStream, Vec<u8>>;

fn decode(pieces: &[&[u8]], open: &[TraceStream]) -> Texts {
    let mut texts = Texts::new();
    let mut emit = |stream, bytes: &[u8]| {
        assert!(!bytes.is_empty() && bytes.len() <= PIECE);
        texts.entry(stream).or_default().extend_from_slice(bytes);
    };
    let mut unstamper = Unstamper::new();
    for piece in pieces {
        unstamper.feed(piece, &mut emit);
    }
    unstamper.settle(open, &mut emit);
    unstamper.finish(&mut emit);
    assert!(unstamper.is_settled());
    texts
}

#[test]
fn what_has_no_stamp_is_passed_on() {
    let check = |text: &[u8], expect: &[u8]| {
        let texts = decode(&[text], &[]);
        let empty = Vec::new();
        let got = texts.get(&TraceStream::STDOUT).unwrap_or(&empty);
        assert_eq!(
            String::from_utf8_lossy(got),
            String::from_utf8_lossy(expect)
        );
        let bytes: Vec<_> = text.chunks(1).collect();
        assert_eq!(decode(&bytes, &[]), texts);
    };
    check(b"", b"");
    check(b"\n\n", b"\n\n");
    check(b"2026-1", b"2026-1");
    check(b"2026-11-20\nx", b"2026-11-20\nx");
    check(
        b"2026-11-20T17:02:03.000004Z 01X a\n",
        b"2026-11-20T17:02:03.000004Z 01X a\n",
    );
    check(b"2026-11-20T17:02:03.000004Z 01O a\nraw\n", b"a\nraw\n");
    check(b"2026-11-20T17:02:03.000004Z 01O a", b"a");
    // Without room for the rest of a stamp there is no text behind it either.
    check(b"2026-11-20T17:02:03.000004Z 01O a\n2026-", b"a\n");
    check(
        b"2026-11-20T17:02:03.000004Z 01O a\nraw\n2026-",
        b"a\nraw\n2026-",
    );
}

#[test]
fn an_open_line_gets_no_newline() {
    let text = b"2026-11-20T17:02:03.000004Z 01O Password: \n";
    let open = decode(&[text], &[TraceStream::STDOUT]);
    assert_eq!(open[&TraceStream::STDOUT], b"Password: ");
    assert_eq!(decode(&[text], &[])[&TraceStream::STDOUT], b"Password: \n");
}

#[test]
fn a_line_and_its_newline_come_in_one_piece_once_it_is_settled() {
    let mut pieces = Vec::new();
    let mut emit = |_, bytes: &[u8]| pieces.push(bytes.to_vec());
    let mut unstamper = Unstamper::new();
    unstamper.feed(b"2026-11-20T17:02:03.000004Z 01E e\n", &mut emit);
    unstamper.feed(b"2026-11-20T17:02:03.000004Z 01O o\n", &mut emit);
    unstamper.settle(&[], &mut emit);
    assert_eq!(pieces, [&b"e"[..], b"o\n", b"\n"]);
}

#[derive(Debug, Clone)]
enum Act {
    Write(TraceStream, Vec<u8>),
    Idle,
}

fn act() -> impl Strategy<Value = Act> {
    let stream = prop_oneof![Just(TraceStream::STDOUT), Just(TraceStream::STDERR)];
    let text = prop_oneof![
        prop::collection::vec(prop::sample::select(b"ab\n\n\r\0\xff".to_vec()), 0..40),
        prop::collection::vec(any::<u8>(), 0..60),
        (8_000usize..9_000).prop_map(|length| vec![b'x'; length]),
    ];
    prop_oneof![
        6 => (stream, text).prop_map(|(stream, text)| Act::Write(stream, text)),
        1 => Just(Act::Idle),
    ]
}

proptest! {
    #[test]
    fn what_was_stamped_comes_back(
        acts in prop::collection::vec(act(), 0..30),
        cuts in prop::collection::vec(1usize..2_000, 1..20),
    ) {
        // R-STEP-39
        let streams = [TraceStream::STDOUT, TraceStream::STDERR];
        let mut stampers = streams.map(Stamper::new);
        let mut expect = Texts::new();
        let mut log = Vec::new();
        let now = SystemTime::UNIX_EPOCH + Duration::from_hours(500_000);
        for act in &acts {
            for (stream, stamper) in streams.iter().zip(&mut stampers) {
                match act {
                    Act::Write(to, text) if to == stream => {
                        stamper.feed(now, text, &mut log);
                        if !text.is_empty() {
                            expect.entry(*to).or_default().extend_from_slice(text);
                        }
                    }
                    Act::Write(..) => {}
                    Act::Idle => stamper.flush_idle(&mut log),
                }
            }
        }
        let mut open = Vec::new();
        for (stream, stamper) in streams.iter().zip(&mut stampers) {
            stamper.flush_idle(&mut log);
            if stamper.is_open() {
                open.push(*stream);
            }
        }
        let mut pieces = Vec::new();
        let mut rest = &log[..];
        for cut in cuts.iter().cycle() {
            let (piece, tail) = rest.split_at(rest.len().min(*cut));
            pieces.push(piece);
            rest = tail;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(decode(&pieces, &open), expect);
    }
}

#[test]
fn lines_of_the_writer_itself_are_whole_lines_between_others() {
    let check = |lines: &str, expect: &str| {
        let mut text = Vec::new();
        let mut unstamper = Unstamper::new();
        let lines = lines.replace('@', "2026-11-20T17:02:03.000004Z ");
        let mut emit = |_, bytes: &[u8]| text.extend_from_slice(bytes);
        unstamper.feed(lines.as_bytes(), &mut emit);
        unstamper.finish(&mut emit);
        assert_eq!(String::from_utf8(text).unwrap(), expect);
    };
    check("@00O a\n@01O b\n@00O c\n", "a\nb\nc\n");
    // One that goes on, and what goes on after one.
    check("@00O a\n@00O+b\n@01O c\n", "ab\nc\n");
    check("@01O a\n@00O b\n@01O+c\n", "a\nb\nc\n");
}
