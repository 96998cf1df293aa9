//! Writes every sample picture into the directory given: `cargo run -p referee-draw --example gallery -- DIR`.

use referee_draw::Charset;

#[path = "../tests/gallery/samples.rs"]
mod gallery;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::path::PathBuf::from(std::env::args().nth(1).ok_or("usage: gallery DIR")?);
    std::fs::create_dir_all(&dir)?;
    for (name, graph) in gallery::graphs() {
        std::fs::write(dir.join(format!("g-{name}.svg")), graph.to_svg()?)?;
        std::fs::write(dir.join(format!("g-{name}.dot")), graph.to_dot()?)?;
        std::fs::write(dir.join(format!("g-{name}.mmd")), graph.to_mermaid()?)?;
    }
    for (name, chart) in gallery::charts() {
        std::fs::write(dir.join(format!("s-{name}.svg")), chart.to_svg()?)?;
        std::fs::write(dir.join(format!("s-{name}.mmd")), chart.to_mermaid()?)?;
        std::fs::write(dir.join(format!("s-{name}.txt")), chart.to_text(Charset::Unicode)?)?;
        std::fs::write(dir.join(format!("s-{name}.ascii.txt")), chart.to_text(Charset::Ascii)?)?;
    }
    Ok(())
}
