import { fileSystemContract } from "../support/contracts/fileSystem.js"
import { fileSystemChangesContract } from "../support/contracts/fileSystemChanges.js"
import { diskWorld } from "../support/diskWorld.js"

fileSystemContract("the one of Node", diskWorld("node"), { sweeps: false })
fileSystemChangesContract("the one of Node", diskWorld("node"))
