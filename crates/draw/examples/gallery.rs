//! Writes every sample picture into the directory given: `cargo run -p referee-draw --example gallery -- DIR`.

#[path = "../tests/gallery/mod.rs"]
mod gallery;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::path::PathBuf::from(std::env::args().nth(1).ok_or("usage: gallery DIR")?);
    std::fs::create_dir_all(&dir)?;
    for (name, graph) in gallery::graphs() {
        std::fs::write(dir.join(format!("g-{name}.svg")), graph.to_svg()?)?;
        std::fs::write(dir.join(format!("g-{name}.dot")), graph.to_dot()?)?;
        std::fs::write(dir.join(format!("g-{name}.mmd")), graph.to_mermaid()?)?;
    }
    Ok(())
}
