//! Questions of many learners, answered in few runs: starting nvdisasm takes longer than reading a thousand words.
//!
//! Each learner runs on a thread of its own. When all of them wait for answers, their words are read in one run.

use std::io::IsTerminal as _;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use anyhow::{Context as _, Result};

use crate::nvdisasm::Answer;

/// Maximum number of learners at a time.
const LEARNERS: usize = 512;

enum Message {
    Question(Vec<u128>, Sender<Vec<Answer>>),
    /// A learner ended.
    Done,
}

/// A learner's line to the oracle.
pub(super) struct Line {
    sender: Sender<Message>,
}

impl Line {
    /// Reads words.
    pub(super) fn read(&self, words: &[u128]) -> Result<Vec<Answer>> {
        let (reply, answers) = channel();
        let _ = self.sender.send(Message::Question(words.to_vec(), reply));
        answers.recv().context("the oracle ended")
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let _ = self.sender.send(Message::Done);
    }
}

/// Runs a learner for each item, and returns their results in order. `read` reads words.
pub(super) fn run<T: Sync, R: Send>(
    read: &dyn Fn(&[u128]) -> Result<Vec<Answer>>,
    items: &[T],
    learner: impl Fn(&T, &Line) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let learner = &learner;
    let mut results = Vec::new();
    for items in items.chunks(LEARNERS) {
        let (sender, questions) = channel();
        thread::scope(|scope| -> Result<()> {
            let start = |item| {
                let line = Line { sender: sender.clone() };
                scope.spawn(move || learner(item, &line))
            };
            let learners: Vec<_> = items.iter().map(start).collect();
            let answered = answer(read, &questions, items.len());
            // Learners that still wait end with an error.
            drop(questions);
            for learner in learners {
                results.push(learner.join().ok().context("a learner panicked")?);
            }
            answered
        })?;
    }
    results.into_iter().collect()
}

/// Answers questions until all learners ended.
fn answer(
    read: &dyn Fn(&[u128]) -> Result<Vec<Answer>>,
    questions: &Receiver<Message>,
    all: usize,
) -> Result<()> {
    let mut learners = all;
    while learners > 0 {
        let mut words = Vec::new();
        let mut replies = Vec::new();
        while replies.len() < learners {
            match questions.recv()? {
                Message::Question(question, reply) => {
                    replies.push((question.len(), reply));
                    words.extend(question);
                }
                Message::Done => learners -= 1,
            }
        }
        if std::io::stderr().is_terminal() {
            eprint!("\r{learners} of {all} opcodes left ");
        }
        let mut answers = read(&words)?.into_iter();
        for (count, reply) in replies {
            let _ = reply.send(answers.by_ref().take(count).collect());
        }
    }
    if std::io::stderr().is_terminal() {
        eprintln!();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_learner_gets_its_answers() {
        let read = |words: &[u128]| {
            Ok(words.iter().map(|word| Answer { text: Some(word.to_string()), address: 0 }).collect())
        };
        let items: Vec<u128> = (0..40).collect();
        let learned = run(&read, &items, |item, line| {
            let mut texts = Vec::new();
            for round in 0..*item % 5 {
                texts.extend(line.read(&[*item, round])?.into_iter().filter_map(|answer| answer.text));
            }
            Ok(texts.join(" "))
        });
        assert_eq!(learned.unwrap()[12], "12 0 12 1");
        let failing = |_: &[u128]| anyhow::bail!("no oracle");
        assert!(run(&failing, &items, |item, line| line.read(&[*item])).is_err());
    }
}
