use nihbuild::{plan::*, recipe::*, pipeline};
fn main(){
    let a: Vec<String>=std::env::args().collect();
    let (_, r)=Recipe::find(&a[1]).unwrap();
    let opt=Options{filter:Filter{limit:a.get(2).map(|x|x.parse().unwrap()),..Default::default()},jobs:2,out:"build".into(),..Default::default()};
    let p=Plan::new(r,opt).unwrap();
    match pipeline::build(&p) { Ok(o)=>{ println!("{} {} rows {} tokens {:?}", o.folder.display(), o.manifest.rows, o.manifest.tokens, o.watch.laps()); for f in &o.manifest.files { println!("{} {} {} fill {}", f.path, f.rows, f.bytes, f.stats.fill/f.rows.max(1)); } println!("{:#?}", o.manifest.answerers); }, Err(e)=>println!("error: {e}") }
}
