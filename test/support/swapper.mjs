// A program that swaps what is in a folder, as fast as it can, until it is killed.
//
//   node swapper.mjs folder FOLDER OUTSIDE    FOLDER is moved away, a link to OUTSIDE takes its place, and back
//   node swapper.mjs pipe FILE PIPE           FILE is the file, then the pipe, then the file
import * as fs from "node:fs"

const [kind, place, other] = process.argv.slice(2)

const folder = () => {
  fs.renameSync(place, `${place}.away`)
  fs.symlinkSync(other, place)
  fs.unlinkSync(place)
  fs.renameSync(`${place}.away`, place)
}

const pipe = () => {
  for (const next of [other, `${place}.kept`]) {
    fs.linkSync(next, `${place}.next`)
    fs.renameSync(`${place}.next`, place)
  }
}

const swap = kind === "folder" ? folder : pipe
swap()
process.stdout.write("swapping\n")
for (;;) {
  try {
    swap()
  } catch (error) {
    // What is swapped is also removed and made anew by whoever it races with.
    if (!["ENOENT", "EEXIST", "ENOTEMPTY", "EISDIR", "ENOTDIR"].includes(error.code)) throw error
    try {
      fs.unlinkSync(place)
    } catch {}
    try {
      fs.renameSync(`${place}.away`, place)
    } catch {}
  }
}
