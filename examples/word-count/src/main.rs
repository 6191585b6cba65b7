//! Prints lines, words and characters of standard input.

use std::io::Read;

fn main() -> std::io::Result<()> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let counts = wordcount::count(&text);
    println!("{} {} {}", counts.lines, counts.words, counts.characters);
    Ok(())
}
