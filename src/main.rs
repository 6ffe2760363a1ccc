use nihbuild::{story::*, language::*,seed::*};
use std::collections::BTreeMap;
fn main(){
    let pack = "en".parse::<Language>().unwrap().pack().unwrap();
    let seed=Seed::new("1");
    let n: usize=std::env::args().nth(1).unwrap().parse().unwrap();
    for spread in [AnswerSpread::Balanced, AnswerSpread::Official] {
    for task in SourceTask::all() {
        let t=std::time::Instant::now();
        let mut hit=[0u64;8]; let mut app=[0u64;8]; let mut lab:BTreeMap<Answer,usize>=BTreeMap::new(); let mut len:BTreeMap<usize,usize>=BTreeMap::new();
        let mut fail=0;
        for i in 0..n { match simulate(task,i,spread,&seed,|_|true) { None=>fail+=1, Some(s)=>{
            let Solution::Unique{answer,..}=s.solve() else {panic!()};
            *lab.entry(answer).or_default()+=1; *len.entry(s.facts.len()).or_default()+=1;
            let mut m=Mentions::default(); for f in &s.facts {m.add(*f);}
            for (j,g) in guesses(&s,&m).iter().enumerate() { if let Some(c)=credit(g,answer) { hit[j]+=c as u64; app[j]+=1; } }
            if i==0 && n<300 { println!("{} {}", s.facts.iter().map(|f|pack.sentence(f.message())).collect::<Vec<_>>().join(" "), pack.sentence(s.question.message())); }
        }}}
        println!("{spread:?} {task} fail {fail} chance {:.3} {:?} labels {} maj {:.3} len {:?} {:?}", 1.0/labels(task,spread).len() as f64, (0..8).map(|j| format!("{:.3}",hit[j] as f64/1e6/app[j].max(1) as f64)).collect::<Vec<_>>(), lab.len(), *lab.values().max().unwrap() as f64/n as f64, len.iter().take(8).collect::<Vec<_>>(), t.elapsed());
    }}
}
