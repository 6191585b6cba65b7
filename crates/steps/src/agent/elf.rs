//! Reads the machine of a program, and whether it needs a loader, from its ELF header.

/// The requirements of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Program {
    /// The processor, by the names that container images use.
    pub(crate) machine: &'static str,
    /// Whether it needs no loader, and so no libraries.
    pub(crate) is_static: bool,
}

/// The type of the program header that names a loader.
const INTERPRETER: u32 = 3;

/// Reads an ELF header; `None` if the file is not a 64-bit program.
pub(crate) fn read(file: &[u8]) -> Option<Program> {
    // 64 bits, little endian.
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let machine = match half(file, 18)? {
        0x3e => "amd64",
        0xb7 => "arm64",
        0xf3 => "riscv64",
        _ => "another machine",
    };
    let table = usize::try_from(u64::from_le_bytes(bytes(file, 32)?)).ok()?;
    let size = usize::from(half(file, 54)?);
    let count = usize::from(half(file, 56)?);
    let mut is_static = true;
    for number in 0..count {
        let at = table.checked_add(number.checked_mul(size)?)?;
        is_static &= u32::from_le_bytes(bytes(file, at)?) != INTERPRETER;
    }
    Some(Program { machine, is_static })
}

/// Returns the machine of this program, by the names that container images use.
pub(crate) fn own_machine() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn half(file: &[u8], at: usize) -> Option<u16> {
    bytes(file, at).map(u16::from_le_bytes)
}

fn bytes<const N: usize>(file: &[u8], at: usize) -> Option<[u8; N]> {
    file.get(at..at.checked_add(N)?)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::{own_machine, read as elf};

    /// Returns a header with one program header of this type.
    fn head(machine: u8, kind: u8) -> Vec<u8> {
        let mut file = vec![0; 64 + 56];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[18] = machine;
        file[32] = 64;
        file[54] = 56;
        file[56] = 1;
        file[64] = kind;
        file
    }

    #[test]
    fn elf_machine_and_loader_are_read() {
        let read = |machine, kind| elf(&head(machine, kind)).unwrap();
        assert_eq!(read(0x3e, 1).machine, "amd64");
        assert_eq!(read(0xb7, 1).machine, "arm64");
        assert_eq!(read(2, 1).machine, "another machine");
        assert!(read(0x3e, 2).is_static);
        assert!(!read(0x3e, 3).is_static);
    }

    #[test]
    fn non_elf_is_rejected() {
        for file in [
            &b""[..],
            b"#!/bin/sh\n",
            b"\x7fELF\x01\x01",
            b"\x7fELF\x02\x01",
        ] {
            assert_eq!(elf(file), None);
        }
        let mut lying = head(0x3e, 1);
        lying[32..40].fill(0xff);
        assert_eq!(elf(&lying), None);
        lying.truncate(70);
        assert_eq!(elf(&lying), None);
    }

    #[test]
    fn own_elf_matches_this_machine() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(elf(&own).unwrap().machine, own_machine());
    }
}
